package newrun

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

func TestAnAgentThatOneTalksToIsAttachedTo(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "ctrl+t", "ctrl+s", "enter")
	if len(p.w.started) != 1 || !strings.Contains(p.w.started[0], "--interactive") {
		t.Fatalf("started %q", p.w.started)
	}
	if command, ok := p.last().(page.Command); !ok || !slices.Equal(command.Args, []string{"attach", "0dq4f-codex"}) {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestEnterAtTheStartGoesToTheChoiceThatIsMissing(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("ctrl+s")
	p.Sees("enter choose an agent")
	p.Press("enter", "enter", "ctrl+s")
	p.Sees("enter describe the task")
	p.Press("enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("enter start")
	p.Press("enter")
	if len(p.w.started) != 1 || !strings.Contains(p.w.started[0], "mend it") {
		t.Errorf("started %q", p.w.started)
	}
}

func TestARunThatDeliversAtItsEndHasTheWholeTerminal(t *testing.T) {
	w := newWorld(t)
	w.delivers = true
	p := open(t, w)
	p.tell("mend it")
	p.Press("ctrl+s", "enter")
	run, ok := p.last().(page.Run)
	if words := run.Request.CommandLine(nil); !ok || !slices.Equal(words, []string{"aibox", "run", "codex", "--repo=/home/ann/shop", "--prompt=mend it"}) || len(w.started) > 0 {
		t.Errorf("asked for %+v, started %q", p.Asked, w.started)
	}
	p.Send(page.Returned{})
	if p.last() != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestASecondEnterDoesNotStartARunThatDeliversTwice(t *testing.T) {
	w := newWorld(t)
	w.delivers = true
	p := open(t, w)
	p.tell("mend it")
	p.Press("ctrl+s", "enter")
	asked := len(p.Asked)
	p.Press("enter")
	if len(p.Asked) != asked {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestTheTaskOfARunThatCannotBeStartedIsKept(t *testing.T) {
	w := newWorld(t)
	w.delivers = true
	p := open(t, w)
	p.tell("mend it")
	p.Press("ctrl+s", "enter")
	asked := len(p.Asked)
	p.Send(page.Returned{Err: errors.New("Docker does not \x1b[2J answer")})
	if len(p.Asked) != asked {
		t.Fatalf("asked for %+v", p.last())
	}
	p.Sees(`Docker does not \x1b[2J answer`)
	p.Sees("mend it")
	p.Press("enter")
	if run, ok := p.last().(page.Run); !ok || len(p.Asked) != asked+1 || run.Request.Prompt != "mend it" {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestARunThatDeliversAtItsEndIsGivenTypedSecrets(t *testing.T) {
	w := newWorld(t)
	w.delivers = true
	p := open(t, w)
	p.tell("mend it")
	p.Press("tab", "end")
	p.Type("canary")
	p.Press("ctrl+s", "enter")
	run, ok := p.last().(page.Run)
	if key := run.Request.Secrets["key"]; !ok || key.Reveal() != "canary" {
		t.Errorf("asked for %+v, with the secrets %v", p.last(), run.Request.Secrets)
	}
	if text := fmt.Sprintf("%+v %#v %+v", run, run.Request, w.remembered); strings.Contains(text, "canary") {
		t.Errorf("the secret is in %s", text)
	}
	p.DoesNotSee("canary")
}

func TestAnInvalidRunIsNotStarted(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "ctrl+s")
	p.Sees("not yet")
	p.Sees("✗ Codex needs a task")
	p.DoesNotSee("--prompt") // the field is selected
	p.Press("enter")
	if len(p.w.started) > 0 || len(p.Asked) > 0 {
		t.Errorf("started %q, asked for %+v", p.w.started, p.Asked)
	}
	p.Type("mend it")
	p.Press("tab", "down")
	p.Type("1000")
	p.Press("ctrl+s", "enter")
	if len(p.w.started) > 0 {
		t.Errorf("started %q with options that cannot stand", p.w.started)
	}
	p.Sees("turns")
}

func TestAStartWaitsForTheCheckUnlessAKeyComesFirst(t *testing.T) {
	for key, want := range map[string]int{"": 1, "x": 0, "paste": 0} {
		w := newWorld(t)
		p := open(t, w)
		p.tell("mend it")
		p.Press("ctrl+s")
		p.m.checker.running = true
		p.Press("enter")
		p.Sees("still checking; the run starts after that")
		if len(w.started) > 0 {
			t.Errorf("started %q", w.started)
		}
		switch key {
		case "":
		case "paste":
			p.Send(tea.PasteMsg{Content: "more"})
		default:
			p.Press(key)
		}
		p.Send(checkDone{p.m.checker.result, nil})
		if len(w.started) != want {
			t.Errorf("started %q after %q", w.started, key)
		}
	}
}

func TestAStartThatFailsStaysOnTheScreenAndCanBeTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Environment, "the daemon \x1b[2J does not answer").Hint("`aibox doctor` tells more")
	p := open(t, w)
	p.tell("mend it")
	p.Press("ctrl+s", "enter")
	p.Sees("· workspace")
	p.Sees("does not answer")
	p.Sees("→ `aibox doctor` tells more")
	if strings.Contains(p.m.View(), "\x1b[2J") {
		t.Error("an error reached the terminal raw")
	}
	p.DoesNotSee("b bakes")
	p.Press("b", "enter")
	if len(w.started) != 2 || p.last() != page.Request(page.Session{ID: "0dq4f-codex"}) {
		t.Errorf("started %q, asked for %+v", w.started, p.Asked)
	}
}

func TestAMachineThatIsNotSetUpIsSetUpWithAKey(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Environment, "no Docker daemon answers").Hint("set the machine up: aibox doctor --fix")
	p := open(t, w)
	p.tell("fix it")
	p.Press("ctrl+s", "d")
	if len(p.Asked) > 0 {
		t.Errorf("asked for %+v before the start", p.Asked)
	}
	p.Press("enter")
	p.Sees("✗ no Docker daemon answers")
	p.Sees("d sets up this machine · enter tries again")
	p.Fits("a machine that is not set up")
	p.Press("d")
	if want := (page.Command{Args: []string{"doctor", "--fix"}, Wait: true}); !reflect.DeepEqual(p.last(), page.Request(want)) {
		t.Errorf("asked for %+v", p.Asked)
	}
	p.Press("enter")
	if len(w.started) != 2 {
		t.Errorf("started %q", w.started)
	}
}

func TestTheKeyThatSetsUpTheMachineIsOfferedForEachHintOfTheSetup(t *testing.T) {
	for hint, offered := range map[string]bool{
		"set the machine up: aibox doctor --fix": true, "`aibox doctor --fix` registers aibox's in its place": true,
		"Docker's runtime runsc is not gVisor's: `aibox doctor --fix` registers it": true, "`aibox doctor` tells more": false,
	} {
		s := &startStep{state: failed, err: fault.New(fault.Environment, "it does not start").Hint("%s", hint)}
		if s.canSetUp() != offered {
			t.Errorf("%q: offered is %t", hint, !offered)
		}
	}
}

func TestAMachineThatWasSetUpIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.noDocker = fault.New(fault.Environment, "no Docker daemon answers").Hint("set the machine up: aibox doctor --fix")
	p := open(t, w)
	p.Sees("no Docker")
	p.tell("fix it")
	p.Press("ctrl+s")
	p.Sees("no Docker daemon answers")
	p.Press("d")
	w.noDocker = nil
	p.Send(page.Returned{})
	p.DoesNotSee("no Docker daemon answers")
	p.Sees("enter start")
	p.Press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
	p.DoesNotSee("no Docker")
	p.Sees("ready")
}

func TestAFailedStartIsForgottenOnceTheMachineWasSetUp(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Environment, "no Docker daemon answers").Hint("set the machine up: aibox doctor --fix")
	p := open(t, w)
	p.tell("fix it")
	p.Press("ctrl+s", "enter")
	p.Sees("✗ no Docker daemon answers")
	p.Press("d")
	p.Send(page.Returned{})
	p.DoesNotSee("no Docker daemon answers")
	p.DoesNotSee("d sets up this machine")
	p.Sees("enter start")
}

func TestEscTakesAStartBack(t *testing.T) {
	p := open(t, newWorld(t))
	ctx, cancel := context.WithCancel(t.Context())
	p.m.start.state, p.m.start.cancel = starting, cancel
	p.m.at = stepStart
	if !p.m.Typing() {
		t.Error("keys of the owner count while a run starts")
	}
	p.m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	if ctx.Err() == nil {
		t.Error("it goes on")
	}
	p.m.Update(startDone{compose.Started{}, ctx.Err()})
	if p.m.start.state != failed || p.m.start.err == nil {
		t.Error("it does not end")
	}
}

func TestAStartUnderWayIsNotQuitWithoutAQuestion(t *testing.T) {
	p := open(t, newWorld(t))
	p.m.start.state, p.m.start.cancel = starting, func() {}
	if q := p.m.Leaving(); q == nil || q.Text != "The run is still starting. It is canceled." {
		t.Errorf("without a task: %+v", q)
	}
	p.m.start.state = notStarted
	p.tell("mend it")
	p.m.start.state = starting
	if q := p.m.Leaving(); q == nil || q.Text != "The run is still starting. It is canceled, and the task that you wrote is lost." {
		t.Errorf("with a task: %+v", q)
	}
	p.m.start.state = started
	if q := p.m.Leaving(); q != nil {
		t.Errorf("once it runs: %+v", q)
	}
}

func TestABakeThatFailsShowsItsLastLines(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Environment, "the image of aider was not built").Hint("the last lines above say why")
	w.output = []string{"one", "two", "three", "four", "five", "npm \x1b[2J error", "no space left"}
	p := open(t, w)
	p.Press("down", "enter")
	p.Type("mend it")
	p.Press("ctrl+s", "b")
	p.DoesNotSee("one")
	p.Sees("  two")
	p.Sees(`npm \x1b[2J error`)
	p.Sees("  no space left\n✗ the image of aider was not built")
	p.Fits("a bake that failed")
}

func TestAMissingModelIsShownBeforeTheStartWithItsRemedies(t *testing.T) {
	w := newWorld(t)
	w.noModel = fault.New(fault.Environment, "no model server was found at http://127.0.0.1:8000").Hint("ollama serve")
	p := open(t, w)
	p.tell("fix it")
	p.Sees("✗ no model server was found")
	p.DoesNotSee("ready; nothing changes")
	p.Press("ctrl+s")
	p.Sees("[ start ] not yet")
	p.Sees("→ ollama serve")
	p.Press("enter")
	if len(w.started) > 0 {
		t.Fatalf("started %q without a model", w.started)
	}
	p.Press("i")
	p.Sees("▸ Inference")
	p.Type("scripted")
	p.Press("enter")
	p.Sees("ready; nothing changes until you accept")
	p.Press("delete", "ctrl+s")
	p.Sees("m uses the scripted model and starts")
	p.Press("m")
	if len(w.started) != 1 || !strings.Contains(w.started[0], "--inference=scripted") {
		t.Errorf("started %q", w.started)
	}
}

func TestEnterChecksAgainAndStartsWhenTheModelServerIsUp(t *testing.T) {
	w := newWorld(t)
	w.noModel = fault.New(fault.Environment, "no model server was found")
	p := open(t, w)
	p.tell("fix it")
	p.Press("ctrl+s")
	p.Sees("enter checks again")
	w.noModel = nil
	p.Press("enter")
	if len(w.started) != 1 {
		t.Errorf("started %q", w.started)
	}
}

func TestAModelServerThatIsStartedMeanwhileIsSeen(t *testing.T) {
	w := newWorld(t)
	w.noModel = fault.New(fault.Environment, "no model server was found")
	p := open(t, w)
	p.tell("fix it")
	p.Sees("✗ no model server was found")
	retry := func() {
		t.Helper()
		if len(p.Withheld) == 0 {
			t.Fatal("the model server is not asked again")
		}
		last := p.Withheld[len(p.Withheld)-1]
		p.Withheld = nil
		p.Send(last)
	}
	p.Withheld = p.Withheld[len(p.Withheld)-1:]
	for range 5 {
		retry()
		p.Sees("✗ no model server was found")
	}
	if got := p.retries[len(p.retries)-6:]; got[0] != firstRetry || got[1] != 2*firstRetry || got[5] != lastRetry {
		t.Errorf("it is asked after %v", got)
	}
	w.noModel = nil
	retry()
	p.Sees("ready; nothing changes until you accept")
	if len(p.Withheld) > 0 {
		t.Errorf("it is asked again although a model is there: %v", p.Withheld)
	}
}

func TestAStartThatFailsWithoutAModelOffersTheRemedies(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.tell("fix it")
	p.Press("ctrl+s")
	w.fail, w.noModel = errors.New("no model server was found"), errors.New("no model server was found")
	p.Press("enter")
	p.Sees("m uses the scripted model and starts")
	p.Press("m")
	if len(w.started) != 2 || !strings.Contains(w.started[1], "--inference=scripted") {
		t.Errorf("started %q", w.started)
	}
}

func TestAnAnswerAboutAnEarlierModelServerIsDropped(t *testing.T) {
	w := newWorld(t)
	w.noModel = errors.New("no model server was found")
	var c modelCheck
	early := c.check(t.Context(), w, run.Request{Agent: "codex"})()
	late := c.check(t.Context(), w, run.Request{Agent: "codex", Settings: overrides(map[string]string{"inference": "scripted"})})
	if _, current := page.Current(early); current {
		t.Error("an early answer counts")
	}
	if msg, current := page.Current(late()); !current || msg != tea.Msg(modelChecked{}) {
		t.Errorf("the last answer is %v", msg)
	}
}

func TestTheModelServerIsAskedOnceForTheSameChoices(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.tell("fix it")
	before := w.asked
	p.Press("tab", "down")
	p.Type("7")
	p.Press("enter")
	if w.asked != before {
		t.Errorf("asked %d times instead of %d", w.asked, before)
	}
}

func TestTheShellAgentAsksForACommand(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.Type("shell")
	p.Press("enter")
	p.Sees("Command")
	p.Sees("Which command should run?")
	p.Type("ls | head")
	p.Press("ctrl+s", "enter")
	if len(w.started) != 1 || !strings.HasSuffix(w.started[0], "-- sh -c 'ls | head'") {
		t.Errorf("started %q", w.started)
	}
}

func TestATaskIsRunInSeveralSessionsSideBySide(t *testing.T) {
	p := open(t, newWorld(t))
	p.tell("fix it")
	p.Press("ctrl+s", "-", "+", "+", "+", "-")
	p.Sees("3 side by side")
	p.Sees("--times=3")
	p.Press("enter")
	if len(p.w.started) != 1 || !strings.Contains(p.w.started[0], "--times=3") {
		t.Fatalf("started %q", p.w.started)
	}
	if p.last() != page.Request(page.Compare{Batch: "b-0dq4f"}) {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestABatchThatStartsInPartShowsWhatFailed(t *testing.T) {
	p := open(t, newWorld(t))
	p.w.partly = fault.New(fault.Environment, "1 of 2 sessions did not start: the disk is full").Hint("aibox gc")
	p.tell("fix it")
	p.Press("ctrl+s", "+", "enter")
	p.Sees("✗ 1 of 2 sessions did not start: the disk is full")
	p.Sees("→ aibox gc")
	p.Sees("✓ b-0dq4f is running; enter opens it")
	if p.last() == page.Request(page.Compare{Batch: "b-0dq4f"}) {
		t.Fatal("the error is left behind")
	}
	p.Press("esc")
	if p.last() != page.Request(page.Close{Text: "b-0dq4f is running"}) {
		t.Errorf("asked for %+v", p.last())
	}
	p.Press("enter")
	if p.last() != page.Request(page.Compare{Batch: "b-0dq4f"}) {
		t.Errorf("asked for %+v", p.last())
	}
}
