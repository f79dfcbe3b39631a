package sessionview

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aibox/agents/conversation"
	"aibox/audit"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/output"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/stream"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

func TestOutputAndEventsAreShownSideBySide(t *testing.T) {
	p := open(t, running())
	for _, want := range []string{
		"0abcd-codex", "● running", "13k tokens", "4 refused", "until 13:00:00", "step 59 of many",
		"✓ model qwen3-coder", "200 4.3s 12k in 678 out", "✗ name registry.example ×3", "outside names are not resolved", "✗ tcp 192.0.2.1:443",
		"! the model server answered 500", "the agent started", "fix the failing test",
	} {
		p.Sees(want)
	}
	p.Press("g")
	p.Sees("I will look at the tests first.")
	p.Sees("a warning")
	p.Sees("end follows")
	p.DoesNotSee("step 59 of many")
	p.Press("G")
	p.Sees("step 59 of many")
}

func TestAnOpenToolOfTheModelsServerIsAlwaysShown(t *testing.T) {
	s := running()
	p := open(t, s)
	p.DoesNotSee("way out")
	s = running()
	s.session.Network, s.session.InferenceTools = netguard.Local.String(), []string{netguard.WebSearch.String(), netguard.MCP.String()}
	open(t, s).Sees("way out: web-search, mcp")
	s.session.Network = netguard.None.String() // then there is no model at all
	open(t, s).DoesNotSee("way out")
}

func TestWordsThatAreTypedAreNoKeysOfTheScreen(t *testing.T) {
	p := open(t, running())
	p.Press("/")
	p.Type("step 1")
	p.Send(tea.PasteMsg{Content: "9"})
	p.Press("enter")
	p.Sees("1/1 · end follows")
	p.Press("/")
	if !p.m.Typing() {
		t.Error("keys are not text")
	}
	p.Type("q")
	p.Press("esc")
	if p.m.Typing() || len(p.Asked) != 0 {
		t.Errorf("left with %v", p.Asked)
	}
	p = open(t, ended())
	p.Press("g")
	p.Sees("I will look")
	p.DoesNotSee("follow")
}

func TestActionsOnTheAgentAreConfirmedFirst(t *testing.T) {
	for key, want := range map[string]string{"s": "stop", "i": "signal 2", "e": "extend 1h0m0s"} {
		s := running()
		p := open(t, s)
		now := noon
		p.m.now = func() time.Time { return now }
		p.Press(key, "y")
		if s.done != nil {
			t.Errorf("%s: done within the moment of grace: %v", key, s.done)
		}
		now = now.Add(dialog.Grace)
		p.Press("enter")
		if s.done != nil {
			t.Errorf("%s: cancel has not the focus: %v", key, s.done)
		}
		p.Press(key)
		now = now.Add(dialog.Grace)
		p.Press("y")
		if len(s.done) != 1 || s.done[0] != want {
			t.Errorf("%s: done %v", key, s.done)
		}
	}
	s := running()
	s.fails = errors.New("it would not")
	p := open(t, s)
	p.Send(p.m.stop()())
	p.Sees("it would not")
}

func TestThePaneOfTheNetworkBeginsWithAWholeEntry(t *testing.T) {
	for height := 20; height < 32; height++ {
		p := newUser(t, running(), 80, height)
		_, pane, _ := strings.Cut(p.View(), "Network and events")
		_, pane, _ = strings.Cut(pane, "\n")
		if first, _, _ := strings.Cut(pane, "\n"); !strings.HasPrefix(first, "12:00:") {
			t.Errorf("at %d rows it begins with %q", height, first)
		}
	}
}

func TestAKeyThatDoesNotApplySaysWhy(t *testing.T) {
	p := open(t, running())
	p.Press("r")
	p.Sees("r does nothing: 0abcd-codex is still running")
	p.Press("v")
	p.DoesNotSee("does nothing")
	p = open(t, ended())
	p.Press("c")
	p.Sees("c does nothing: 0abcd-codex has ended")
}

func TestASessionWhoseSupervisorDiesEnds(t *testing.T) {
	s := running()
	p := open(t, s)
	p.Sees("running")
	s.session.Alive = false
	p.Run(p.m.find())
	p.Sees("the supervisor of 0abcd-codex has died, so it was ended")
	p.Sees("to review")
	p.Press("r")
	if len(p.Asked) != 1 || len(s.done) != 1 {
		t.Errorf("it asks for %v after %v", p.Asked, s.done)
	}
}

func TestASessionThatEndsByItselfIsNotSaidToHaveCrashed(t *testing.T) {
	s := running()
	s.endsItself = true
	p := open(t, s)
	s.session.Alive = false
	p.Run(p.m.find())
	p.Sees("to review")
	p.DoesNotSee("has died")
}

func TestAKeyOfASessionWhoseSupervisorDiedSaysSo(t *testing.T) {
	s := running()
	s.session.Alive, s.fails = false, errors.New("the daemon does not answer")
	for _, k := range []string{"s", "i", "$", "P", "x", "c", "d", "e", "r", "S", "F", "R"} {
		p := open(t, s)
		p.Press(k)
		p.Sees(k + " does nothing: the supervisor of 0abcd-codex has died")
	}
}

func TestOnlyTheKeyForMoreTimeNeedsATimeLimit(t *testing.T) {
	s := running()
	s.session.Timeout = 0
	for key, want := range map[string]string{"e": "has no time limit", "R": "is still running", "F": "is still running"} {
		p := open(t, s)
		p.Press(key)
		p.Sees(key + " does nothing: 0abcd-codex " + want)
	}
}

func TestTheNextKeyClearsOnlyANoteAboutAKey(t *testing.T) {
	p := open(t, running())
	p.Send(actionDone{err: errors.New("it would not")})
	p.Sees("it would not")
	p.Press("up")
	p.DoesNotSee("it would not")
	p.Send(found{err: errors.New("the record is damaged")})
	p.Press("up", "down")
	p.Sees("the record is damaged")
	p.Press("r")
	p.Sees("r does nothing")
	p.Press("up")
	p.DoesNotSee("does nothing")
}

func TestOnlyAnErrorOfReadingTheSessionIsClearedOnceItIsRead(t *testing.T) {
	p := open(t, running())
	damaged := errors.New("the record is damaged")
	p.Send(found{err: damaged})
	p.Sees("the record is damaged")
	p.Run(p.m.find())
	p.DoesNotSee("the record is damaged")
	p.Send(found{err: damaged})
	p.Send(actionDone{err: errors.New("it would not")})
	p.Sees("it would not")
	p.Send(found{err: damaged})
	p.Send(stream.Batch[audit.Event]{Err: damaged})
	p.Sees("the record is damaged")
}

func TestEveryKeyOpensItsScreen(t *testing.T) {
	interactive := running()
	interactive.session.Interactive, interactive.screenRows = true, "a prompt\n> \n"
	for _, test := range []struct {
		scene *scene
		key   string
		want  page.Request
	}{
		{interactive, "a", page.Command{Args: []string{"attach", string(id)}}},
		{interactive, "enter", page.Command{Args: []string{"attach", string(id)}}},
		{interactive, "b", page.Scrollback{ID: id}},
		{running(), "a", nil},
		{running(), "b", nil},
		{running(), "r", nil},
		{running(), "$", page.Command{Args: []string{"shell", "--show-exit-code", string(id)}}},
		{running(), "P", page.Ports{ID: id}},
		{ended(), "x", nil},
		{ended(), "c", nil},
		{running(), "w", page.Network{ID: id}},
		{ended(), "r", page.Review{ID: id}},
		{ended(), "R", page.NewRun{Again: id}},
		{running(), "d", page.Command{Args: []string{"diff", string(id)}, Wait: true}},
		{ended(), "d", page.Command{Args: []string{"diff", string(id)}, Wait: true}},
		{running(), "S", nil},
		{ended(), "S", page.SendBack{ID: id}},
		{ended(), "F", page.SendBack{ID: id, Fork: true}},
		{ended(), "s", nil},
		{ended(), "esc", page.Close{}},
		{ended(), "q", page.Close{}},
	} {
		p := open(t, test.scene)
		p.Press(test.key)
		if test.want == nil {
			if len(p.Asked) != 0 || p.Page.Typing() {
				t.Errorf("%s asks for %+v", test.key, p.Asked)
			}
			continue
		}
		if len(p.Asked) != 1 || fmt.Sprintf("%#v", p.Asked[0]) != fmt.Sprintf("%#v", test.want) {
			t.Errorf("%s asks for %#v", test.key, p.Asked)
		}
	}
}

func TestTheScreenOfAnInteractiveAgentIsShownAndItsRecordWhenThereIsNone(t *testing.T) {
	s := running()
	s.session.Interactive, s.screenRows = true, "codex \x1b[31mwaits\x1b[m\x1b]0;evil\x07\n> \n"
	p := open(t, s)
	p.Sees("codex waits")
	p.DoesNotSee("step 59")
	s = ended()
	s.session.Interactive = true
	p = open(t, s)
	p.Sees("step 59")
}

func TestAScreenThatCannotBeReadIsReported(t *testing.T) {
	s := running()
	s.session.Interactive, s.screenErr = true, errors.New("the supervisor does not\x1b[2J answer")
	p := open(t, s)
	p.Sees(`the supervisor does not\x1b[2J answer`)
	s.screenErr, s.screenRows = nil, "codex waits\n"
	p.Run(p.m.find())
	p.Sees("codex waits")
	p.DoesNotSee("the supervisor does not")
}

func TestASessionThatEndsBeforeItsScreenIsReadShowsItsRecord(t *testing.T) {
	s := running()
	s.session.Interactive = true
	p := open(t, s)
	p.DoesNotSee("step 59")
	s.session = ended().session
	s.session.Interactive = true
	p.Run(p.m.find())
	p.Sees("step 59")
}

func TestOutputThatIsNotReadAnyMoreSaysSoAfterEveryKey(t *testing.T) {
	for _, s := range []*scene{running(), talking(t, "claude", conversation.Claude)} {
		s.followErr = errors.New("the supervisor does not\x1b[2J answer")
		p := newUser(t, s, 120, 24)
		p.Sees(`the supervisor does not\x1b[2J answer`)
		p.Press("up", "v")
		p.Sees(`✗ reading stopped; end reads again: the supervisor does not\x1b[2J answer`)
		s.followErr = nil
		p.Press("end")
		p.DoesNotSee("reading stopped")
	}
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	s := running()
	s.describe(output.Stdout, "\x1b]0;CANARY\x07\x1b[2J\x1b[5;5H\u202eevil\n")
	s.event(audit.AccessRefused, session.Refusal{What: "na\x1bme", Target: "x\x1b]52;c;CANARY\x07", Reason: "\u202e", Times: 1})
	s.event(audit.StopRequested, map[string]string{"reason": "\x1b]0;CANARY\x07"})
	s.session.Prompt = "\x1b]0;CANARY\x07"
	s.session.State.Result = &session.Result{Fault: &session.Failure{Message: "\x1b]0;CANARY\x07"}}
	p := open(t, s)
	for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[5;5H", "\u202e", "\x07"} {
		if view := p.Page.View(); strings.Contains(view, bad) {
			t.Errorf("%q is in the view", bad)
		}
	}
}

func TestTheScreenLooksAsItDid(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newUser(t, running(), size[0], size[1])
		p.Show("running")
		p.Press("g")
		p.Show("at the beginning")
		p.Press("tab", "up", "up")
		p.Show("in the other pane")
		p.Press("v")
		p.Show("without the network")
		p.Press("/")
		p.Type("many")
		p.Show("words")
		p.Press("enter")
		p.Show("found")
		p.Press("s")
		p.Show("a question")
		p.Golden("running-")
		p = newUser(t, running(), size[0], size[1])
		p.Press("x")
		p.Type("npm test")
		p.Show("a command for the sandbox")
		p.Press("esc", "c")
		p.Type("report.pdf")
		p.Show("a copy out of the sandbox")
		p.Press("ctrl+t")
		p.Show("a copy into the sandbox")
		p.Golden("commands-")
		p = newUser(t, ended(), size[0], size[1])
		p.Show("ended")
		p.Golden("ended-")
	}
}

func TestItWorksAtTheSmallestSize(t *testing.T) {
	p := newUser(t, running(), 40, 12)
	p.Fits("the record")
	p.Sees("step 59")
	p.Press("tab")
	p.Fits("the network")
	p.Sees("192.0.2.1")
	p.Press("x")
	p.Fits("a command for the sandbox")
	p.Sees("enter run")
	p.Press("esc", "c")
	p.Fits("a copy")
	p.Sees("enter copy")
	p.Sees("esc back")
}

func TestBothThemesShowTheSameText(t *testing.T) {
	p := open(t, running())
	dark := p.View()
	p.Page.SetTheme(theme.New(false))
	if p.View() != dark {
		t.Error("the text differs")
	}
}

var mashed = []string{
	"up", "down", "pgup", "pgdown", "home", "end", "g", "G", "j", "k", "f", "tab", "v", "/", "n", "N", "a", "enter", "esc", "q", "s", "y", "i", "e", "r", "R", "w", "x", "space", "backspace",
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1), false)
	f.Add(uint64(2), true)
	f.Fuzz(func(t *testing.T, seed uint64, over bool) {
		s := running()
		if over {
			s = ended()
		}
		p := newUser(t, s, 80, 24)
		p.m.now = func() time.Time { return noon } // the time does not change, so no question is ever answered
		p.ActRandomly(rand.New(rand.NewPCG(seed, 1)), 60, mashed)
		if s.done != nil {
			t.Errorf("done without an answer: %v", s.done)
		}
	})
}

func TestAnOldAnswerAboutTheSessionIsDropped(t *testing.T) {
	s := running()
	p := open(t, s)
	first := p.m.find()()
	s.session = ended().session
	p.Run(p.m.find())
	p.Sees("to review")
	p.Send(first)
	p.Sees("to review")
}

func TestTheTerminalIsReadAgainAfterItsWatchHasEnded(t *testing.T) {
	s := running()
	s.session.Interactive, s.screenRows = true, "before\n"
	p := open(t, s)
	p.Sees("before")
	s.screenRows = "later\n"
	p.Run(p.m.find()) // something has happened
	p.Sees("later")
}
