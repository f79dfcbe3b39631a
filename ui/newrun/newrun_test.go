package newrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		w := newWorld(t)
		w.fail = fault.New(fault.Environment, "the daemon does not answer").Hint("aibox doctor")
		p := newUser(t, w, size[0], size[1], page.NewRun{})
		p.Show("the agent, since the repository is known")
		p.Press("space", "down", "space")
		p.Show("several agents")
		p.Press("space", "up", "space", "shift+tab")
		p.Show("the repository")
		p.Press("tab", "d")
		p.Show("its branches")
		p.Press("esc", "down", "enter")
		p.tell("mend the failing test in @cart")
		p.Show("the task, while a file is named")
		p.Press("enter", "ctrl+l", "space")
		p.Show("the library")
		p.Press("esc", "tab")
		p.Show("the agent's options")
		p.Press("enter")
		p.Show("the choices of an option")
		p.Press("up", "enter", "tab")
		p.Show("the sandbox")
		p.goTo("hide")
		p.Type("vault")
		p.Show("hidden files")
		p.Press("ctrl+s")
		p.Show("the start")
		p.Press("enter")
		p.Show("a start that failed")
		p.Press("esc")
		p.Show("the steps")
		p.Press("q")
		p.Show("a question")
		p.Golden("")
	}
}

func TestAUserStartsARunWithAFewKeys(t *testing.T) {
	p := open(t, newWorld(t))
	p.tell("mend it")
	p.Press("ctrl+s")
	p.Sees("[ start ]")
	p.Press("enter")
	if want := []string{"run codex --repo=/home/ann/shop '--prompt=mend it'"}; !slices.Equal(p.w.started, want) {
		t.Errorf("started %q", p.w.started)
	}
	if want := (page.Session{ID: "0dq4f-codex"}); p.last() != page.Request(want) {
		t.Errorf("asked for %+v", p.Asked)
	}
	p.Sees("0dq4f-codex is running")
	if len(p.w.remembered) != 1 || p.w.remembered[0].Agent != "codex" {
		t.Errorf("remembered %+v", p.w.remembered)
	}
	p.Send(page.Returned{Text: "seen"})
	if want := (page.Close{Text: "seen"}); p.last() != page.Request(want) {
		t.Errorf("back from the session it asks for %+v", p.last())
	}
}

func TestARunIsFilledInAsASessionWas(t *testing.T) {
	w := newWorld(t)
	w.again = run.Request{
		Agent: "codex", Repository: "/home/ann/blog", Branch: "dark/mode", Prompt: "mend @cart",
		Settings: overrides(map[string]string{"pids": "64", "hide": "vault", "system": "careful"}), Options: map[string]string{"effort": "high"},
	}
	p := newUser(t, w, 80, 24, page.NewRun{Again: "0aaaa"})
	p.Sees("mend @cart")
	p.DoesNotSee("▸ @") // no file name is being typed
	p.Press("ctrl+s", "enter")
	want := "run codex --repo=/home/ann/blog --branch=dark/mode --pids=64 --hide=vault --system=careful --set effort=high '--prompt=mend @cart'"
	if !slices.Equal(w.started, []string{want}) {
		t.Errorf("started %q", w.started)
	}
	w.again = run.Request{}
	p = newUser(t, w, 80, 24, page.NewRun{Again: "0zzzz"})
	p.Sees(`no session "0zzzz"`)
}

func TestLimitsOfASandboxAreOfferedAndTheSummaryShowsWhichAreNotEnforced(t *testing.T) {
	w := newWorld(t)
	w.again = run.Request{Agent: "codex", Repository: "/home/ann/blog", Prompt: "mend it", Settings: overrides(map[string]string{"state-size": "32", "allow-degraded": "true"})}
	p := newUser(t, w, 120, 40, page.NewRun{Again: "0aaaa"})
	p.Press("ctrl+s")
	p.Sees("those that this machine cannot enforce are ignored")
	p.Press("enter")
	if want := "run codex --repo=/home/ann/blog --state-size=32MiB --allow-degraded '--prompt=mend it'"; !slices.Equal(w.started, []string{want}) {
		t.Errorf("started %q", w.started)
	}
}

func TestTheCommandLineIsCopiedWhole(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter")
	p.Type("it's " + strings.Repeat("long ", 100))
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	cmd := p.m.Update(tea.KeyPressMsg{Code: 'y', Mod: tea.ModCtrl})
	if got := fmt.Sprint(runs(cmd)); !strings.Contains(got, `"--prompt=it's long`) || !strings.HasSuffix(strings.TrimRight(got, "]\""), "long") {
		t.Errorf("copied %s", got)
	}
}

func runs(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		var all []tea.Msg
		for _, cmd := range msg {
			all = append(all, runs(cmd)...)
		}
		return all
	default:
		return []tea.Msg{msg}
	}
}

func TestATaskIsNotLostByAKey(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("esc", "q")
	if p.last() != page.Request(page.Close{}) {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Asked = nil
	p.Press("enter", "enter")
	p.Type("mend it")
	p.Press("esc", "esc", "y", "y") // typed before the question could be read
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Sees("Leave without starting?")
	p.m.now = func() time.Time { return noon.Add(time.Minute) }
	p.Press("enter")
	p.Sees("mend it")
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %+v", p.Asked)
	}
	p.Press("q")
	p.m.now = func() time.Time { return noon.Add(time.Hour) }
	p.Press("y")
	if p.last() != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestTheMouseChoosesStepsAndLines(t *testing.T) {
	for _, size := range uitest.Sizes {
		w := newWorld(t)
		p := newUser(t, w, size[0], size[1], page.NewRun{})
		p.ClickOn("Repository")
		if p.m.at != stepRepository {
			t.Fatalf("%v: at %s", size, stepNames[p.m.at])
		}
		p.ClickOn("blog  ")
		p.ClickOn("blog  ")
		if p.m.repository.place.Top != "/home/ann/blog" {
			t.Errorf("%v: at %s", size, p.m.repository.place.Top)
		}
		p.ClickOn("Agent")
		p.ClickOn("aider")
		p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		p.ClickOn("aider")
		p.ClickOn("aider")
		if p.m.request.Agent != "aider" || p.m.at != stepTask {
			t.Errorf("%v: %q at %s", size, p.m.request.Agent, stepNames[p.m.at])
		}
		p.Type("mend it")
		p.ClickOn("Start")
		p.ClickOn("[ start ]")
		if len(w.started) != 1 {
			t.Errorf("%v: started %q", size, w.started)
		}
	}
}

func TestAChoiceThatIsStillMissingIsNoError(t *testing.T) {
	p := open(t, newWorld(t))
	p.Sees("· next: choose an agent")
	p.Press("enter")
	p.Sees("· next: describe the task")
	p.DoesNotSee("✗")
	p.Press("ctrl+s")
	p.Sees("✗ Codex needs a task")
}
