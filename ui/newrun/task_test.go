package newrun

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"aibox/internal/prompts"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"
)

// A task may have 2 MB, and the screen is drawn with each key.
func TestTheCommandLineOfALongTaskIsNotQuotedAsAWholeForEachFrame(t *testing.T) {
	p := open(t, newWorld(t))
	p.m.request.Prompt = strings.Repeat("it's long ", 200_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	view := strings.Join(p.m.footer(), "\n")
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(len(p.m.request.Prompt)) {
		t.Errorf("a frame takes %d bytes for a task of %d", allocated, len(p.m.request.Prompt))
	}
	if !strings.Contains(view, `"--prompt=it's long`) {
		t.Errorf("the command line is not shown:\n%s", view)
	}
}

func TestAFileIsNamedWithItsBeginning(t *testing.T) {
	p := open(t, newWorld(t))
	p.tell("mend @cart")
	p.Sees("▸ @internal/shop/cart.go")
	p.Press("down", "enter")
	p.Type("and a@cart.org")
	if got := p.m.task.prompt(); got != "mend @internal/shop/cart_test.go and a@cart.org" {
		t.Errorf("the task is %q", got)
	}
	p.DoesNotSee("▸ @")
	p.Type(" @")
	p.DoesNotSee("evil")
	p.Press("esc")
	p.DoesNotSee("▸ @")
	if !p.m.inside {
		t.Error("esc left the step with the list")
	}
}

func TestPromptsOfTheLibraryGoBeforeTheTaskOrIntoIt(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "ctrl+l", "enter")
	p.Sees("[x] careful")
	p.Press("down", "i")
	if got := p.m.task.prompt(); !strings.HasPrefix(got, "bad ") || strings.Contains(got, "\x1b") {
		t.Errorf("the task is %q", got)
	}
	p.Sees("before it: careful")
	p.Sees("--system=careful")
	p.Press("ctrl+l", "space")
	p.Press("esc")
	p.DoesNotSee("--system=careful")
}

func TestALibraryWithoutPromptsSaysHowToAddOneAndOffersNoKeysForThem(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	shop.Prompts = nil
	w.places[shop.Top] = shop
	p := open(t, w)
	p.Press("enter", "ctrl+l")
	p.Sees("No prompts yet. `aibox prompts edit NAME` creates one")
	p.Sees("esc close")
	p.DoesNotSee("put before the task")
	p.DoesNotSee("put into the task")
	if said := strings.Join(keymap.Help(theme.New(true), 120, p.Page.Keys()), "\n"); strings.Contains(said, "put into the task") || strings.Contains(said, "put before the task") {
		t.Errorf("the help has them:\n%s", said)
	}
	p.Press("enter", "i", "space", "esc")
	if p.m.task.prompt() != "" || len(p.m.task.library.selected) > 0 {
		t.Errorf("the task is %q, %v before it", p.m.task.prompt(), p.m.task.library.selected)
	}
}

func TestTheLibraryListsThePromptsAgainEachTimeItOpens(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.Press("enter", "ctrl+l")
	p.DoesNotSee("terse")
	p.Press("esc")
	shop := w.places["/home/ann/shop"]
	shop.Prompts = append(slices.Clip(shop.Prompts), prompts.Prompt{Name: "terse", Source: prompts.User, Text: "Be terse."})
	w.places["/home/ann/shop"] = shop
	p.Press("ctrl+l")
	p.Sees("terse")
}

func TestLinesThatTheEditorDoesNotTakeAreReported(t *testing.T) {
	b := newBindings()
	shows := func(s *taskStep) string {
		view := s.view(theme.New(true), false)
		return view[len(view)-1]
	}
	s := newTaskStep(b)
	s.focus()
	s.setSize(80, 10)
	s.edit(tea.PasteMsg{Content: strings.Repeat("a\r", 12_000) + "end"})
	if got := shows(&s); !strings.Contains(got, "! a task has at most 10000 lines here; the others are lost") {
		t.Errorf("after a paste, it shows %q", got)
	}
	s.setPrompt("short")
	if got := shows(&s); got != "" {
		t.Errorf("after a short task, it shows %q", got)
	}
	s.setPrompt(strings.Repeat("a\n", 12_000) + "end")
	if got := shows(&s); !strings.Contains(got, "! only the first 10000 lines are shown; an edit loses the others") {
		t.Errorf("a task that is too long shows %q", got)
	}
	s.edit(keymap.Press("x"))
	if got := shows(&s); !strings.Contains(got, "the others are lost") {
		t.Errorf("after an edit, it shows %q", got)
	}
}
