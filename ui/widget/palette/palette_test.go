package palette

import (
	"strings"
	"testing"

	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func groups() []keymap.Group {
	disabled := keymap.Bind("fly", "z")
	disabled.SetEnabled(false)
	return []keymap.Group{
		{Title: "Session", Keys: []key.Binding{
			keymap.Bind("attach", "enter"), keymap.Bind("review the changes", "r"), keymap.Bind("discard", "x"), keymap.Bind("stop", "s"), disabled,
		}},
		{Title: "List", Keys: []key.Binding{keymap.Bind("filter", "/"), keymap.Bind("sort", "S"), keymap.Bind("preview", "p")}},
		{Title: "aibox", Keys: []key.Binding{keymap.Bind("doctor", "4"), keymap.Bind("new run", "n"), keymap.Bind("review the changes", "r")}},
	}
}

func opened(width, height int) *Model {
	m := New(groups())
	m.SetTheme(theme.New(true))
	m.SetSize(width, height)
	return m
}

func (m *Model) types(text string) {
	for _, r := range text {
		m.Update(keymap.Press(string(r)))
	}
}

func screen(width, height int) string {
	return strings.TrimSuffix(strings.Repeat(strings.Repeat(".", width)+"\n", height), "\n")
}

func TestAFewLettersFindTheIntendedEntry(t *testing.T) {
	for typed, want := range map[string]string{
		"": "enter", "rev": "r", "doc": "4", "nr": "n", "newrun": "n", "srt": "S", "STOP": "s", "list sort": "S", "discard": "x", "pre": "p",
	} {
		m := opened(80, 24)
		m.types(typed)
		outcome, press := m.Update(keymap.Press("enter"))
		if outcome != dialog.Taken || press.String() != want {
			t.Errorf("%q is taken as %q (%v), not %q", typed, press.String(), outcome, want)
		}
	}
}

func TestOtherWordsForACommandFindIt(t *testing.T) {
	for typed, want := range map[string]string{
		"merge": "a", "apply": "a", "log": "l", "logs": "l", "delete": "X", "send": "S", "feedback": "S", "send back": "S",
		"exit": "q", "back": "q", "kill": "s", "start": "n", "build": "b", "config": "5", "doctor": "4", "find": "/", "rerun": "R",
		"output": "l", "show": "enter",
		// The key itself, if upper and lower case differ.
		"s": "s", "S": "S", "ctrl+t": "ctrl+t", "r": "r", "R": "R",
	} {
		m := New([]keymap.Group{{Title: "Session", Keys: []key.Binding{
			keymap.Bind("review the changes", "r"), keymap.Bind("run again", "R"), keymap.Bind("accept", "a"), keymap.Bind("follow its output", "l"),
			keymap.Bind("discard", "x"), keymap.Bind("remove", "X", "delete"), keymap.Bind("stop", "s"), keymap.Bind("resume with feedback", "S"),
			keymap.Bind("new run", "n"), keymap.Bind("filter", "/"), keymap.Bind("sort by the next column", "O"),
			keymap.Bind("bake", "b"), keymap.Bind("this machine", "4"), keymap.Bind("settings", "5"), keymap.Bind("back", "q"),
			keymap.Bind("switch between interactive and unattended", "ctrl+t"), keymap.Bind("open", "enter"),
		}}})
		m.SetSize(80, 24)
		m.types(typed)
		if _, press := m.Update(keymap.Press("enter")); press.String() != want {
			t.Errorf("%q runs the command of %q, not of %q:\n%s", typed, press.String(), want, ansi.Strip(m.View(screen(80, 24))))
		}
	}
}

func TestTheNameOfAGroupCountsFromItsBeginning(t *testing.T) {
	for typed, want := range map[string]bool{"lis": true, "li fil": true, "st": false, "ist": false} {
		m := opened(80, 24)
		m.types(typed)
		if view := ansi.Strip(m.View(screen(80, 24))); strings.Contains(view, "filter") != want {
			t.Errorf("%q:\n%s", typed, view)
		}
	}
}

func TestOnlyWhatCanBeDoneNowIsThereAndOnce(t *testing.T) {
	view := ansi.Strip(opened(80, 24).View(screen(80, 24)))
	if strings.Contains(view, "fly") {
		t.Error("a key that is off is in the palette")
	}
	if strings.Count(view, "review the changes") != 1 {
		t.Errorf("a key of two groups is not there once:\n%s", view)
	}
}

func TestAKeyThatTwoHaveInCommonIsTheFirstOnes(t *testing.T) {
	m := New([]keymap.Group{
		{Title: "List", Keys: []key.Binding{keymap.Bind("clear the filter", "esc")}},
		{Title: "Screen", Keys: []key.Binding{keymap.Bind("back", "esc", "q")}},
	})
	m.SetSize(80, 24)
	m.types("back")
	if _, press := m.Update(keymap.Press("enter")); press.String() != "q" {
		t.Errorf("back is done by %q, which clears the filter", press.String())
	}
}

func TestWhereNothingMatchesEnterDoesNothing(t *testing.T) {
	m := opened(80, 24)
	m.types("qqq")
	if outcome, press := m.Update(keymap.Press("enter")); outcome != dialog.Open || press.Code != 0 {
		t.Errorf("got %v, %q", outcome, press)
	}
	if view := ansi.Strip(m.View(screen(80, 24))); !strings.Contains(view, "no command that works here matches") {
		t.Error(view)
	}
	if outcome, _ := m.Update(keymap.Press("esc")); outcome != dialog.Left {
		t.Error("esc does not close it")
	}
}

func TestTheMouseTakesWhatItPointsAtAndClosesItBeside(t *testing.T) {
	m := opened(80, 24)
	lines := strings.Split(ansi.Strip(m.View(screen(80, 24))), "\n")
	found := false
	for y, line := range lines {
		if before, _, ok := strings.Cut(line, "discard"); ok {
			found = true
			outcome, press := m.Update(tea.MouseClickMsg{X: ansi.StringWidth(before), Y: y, Button: tea.MouseLeft})
			if outcome != dialog.Taken || press.String() != "x" {
				t.Errorf("a click gave %v, %q", outcome, press.String())
			}
		}
	}
	if !found {
		t.Fatal(strings.Join(lines, "\n"))
	}
	if outcome, _ := m.Update(tea.MouseClickMsg{X: 0, Y: 0, Button: tea.MouseLeft}); outcome != dialog.Left {
		t.Error("a click beside the sandbox does not close it")
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if view := ansi.Strip(m.View(screen(80, 24))); !strings.Contains(view, "▸ stop") {
		t.Error(view)
	}
}

func TestThePaletteFitsEveryScreen(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}} {
		m := opened(size[0], size[1])
		for _, typed := range []string{"", "r", "qqq", strings.Repeat("w", 300)} {
			m.types(typed)
			view := m.View(screen(size[0], size[1]))
			if lipgloss.Width(view) != size[0] || lipgloss.Height(view) != size[1] {
				t.Errorf("%v, %q: the view is %d by %d", size, typed, lipgloss.Width(view), lipgloss.Height(view))
			}
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("rev\ndown enter")
	f.Add("down down up ctrl+n esc")
	f.Fuzz(func(t *testing.T, names string) {
		m := opened(60, 20)
		for _, name := range strings.Fields(names) {
			outcome, press := m.Update(keymap.Press(name))
			if outcome == dialog.Taken && press.Code == 0 {
				t.Fatal("it has taken no key")
			}
		}
		if view := m.View(screen(60, 20)); lipgloss.Height(view) != 20 {
			t.Fatalf("the view is %d rows", lipgloss.Height(view))
		}
	})
}

func TestMoreCommandsThanFitAreCounted(t *testing.T) {
	m := opened(60, 12)
	view := func() string { return ansi.Strip(m.View(screen(60, 12))) }
	if got := view(); !strings.Contains(got, " 1-6 of 9 ─") {
		t.Errorf("it is not shown that there are more:\n%s", got)
	}
	for range 8 {
		m.Update(keymap.Press("down"))
	}
	if got := view(); !strings.Contains(got, " 4-9 of 9 ─") {
		t.Errorf("the end is not shown:\n%s", got)
	}
	m.types("stop")
	if got := view(); strings.Contains(got, " of ") {
		t.Errorf("what fits is counted:\n%s", got)
	}
}
