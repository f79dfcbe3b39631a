package dashboard

import (
	"errors"
	"fmt"
	"testing"

	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/page"
)

func TestKeysTypedBeforeAQuestionAppearedDoNotAnswerIt(t *testing.T) {
	p, sessions := open(t, 80, 24)
	p.Press("end", "x", "y", "enter")
	if len(sessions.done) > 0 {
		t.Fatalf("%v was done", sessions.done)
	}
	p.Sees("Discard 0aaaa-codex?")
	p.wait()
	p.Press("enter") // the choice that does nothing has the focus
	if len(sessions.done) > 0 || p.m.ask != nil {
		t.Fatalf("%v was done", sessions.done)
	}
	p.Press("x")
	p.wait()
	p.Press("tab", "enter")
	sessions.did(t, "[discard 0aaaa-codex]")
	p.Sees("recover")
}

func TestWorkIsSentBackWithFeedback(t *testing.T) {
	p, _ := open(t, 120, 40)
	p.Press("S") // of one that runs
	p.Sees("S does nothing: ")
	p.Sees("is still running")
	p.Press("end")
	p.Press("S")
	if len(p.Asked) != 1 || p.Asked[0] != (page.SendBack{ID: "0aaaa-codex"}) {
		t.Errorf("asked for %#v", p.Asked)
	}
}

func TestDiscardedWorkIsRestoredAfterAQuestion(t *testing.T) {
	briefs := sampleBriefs()
	briefs[0].Review = session.Discarded
	sessions := &fakeSessions{briefs: briefs}
	p := newUser(t, sessions, 120, 40)
	p.Press("u") // of one that runs
	p.DoesNotSee("Restore")
	p.Press("end")
	p.Sees("u restore")
	p.Press("u", "y")
	p.Sees("Restore 0aaaa-codex?")
	sessions.did(t, "[]")
	p.wait()
	p.Press("y")
	sessions.did(t, "[restore 0aaaa-codex]")
	p.Sees("0aaaa-codex is restored and ready for review")
}

func TestAFailureIsReported(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs(), fail: errors.New("the disk is \x1b[31mfull")}
	p := newUser(t, sessions, 80, 24)
	p.Press("home", "s")
	p.wait()
	p.Press("y")
	sessions.did(t, "[stop 0dddd-shell]")
	p.Sees("the disk is")
}

func TestOnlyPossibleActionsAreOffered(t *testing.T) {
	p, _ := open(t, 200, 40)
	for _, c := range []struct{ id, offered string }{
		{"0dddd-shell", "enter attach · s stop · n new run · R run again"},
		{"0cccc-qwen", "enter open · r review · a accept · n new run · delete remove"},
		{"0bbbb-aider", "enter open · n new run · delete remove"},
		{"0aaaa-codex", "enter open · r review · a accept · x discard · n new run"},
	} {
		if string(p.m.list.at) != c.id {
			t.Fatalf("at %s", p.m.list.at)
		}
		p.Sees(c.offered)
		p.Press("down")
	}
	p.Press("d", "o", "enter", "r", "R", "w", "n", "home", "enter", "l")
	p.asked("[{[diff 0aaaa-codex] true} {[workspace 0aaaa-codex] false} {0aaaa-codex} {0aaaa-codex} { 0aaaa-codex <nil> <nil>} {0aaaa-codex} {  <nil> <nil>} {[attach 0dddd-shell] false} {0dddd-shell}]")
}

func TestAHeadlessSessionThatRunsIsReadAlong(t *testing.T) {
	p := newUser(t, &fakeSessions{briefs: []summary.Summary{{ID: "0eeee-codex", Created: noon, Phase: session.Running}}}, 80, 24)
	p.Press("enter")
	if fmt.Sprint(p.Asked) != fmt.Sprint([]page.Request{page.Session{ID: "0eeee-codex"}}) {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestNothingIsAcceptedWithoutAQuestion(t *testing.T) {
	p, _ := open(t, 80, 24)
	p.Press("end", "a", "y")
	if len(p.Asked) > 0 {
		t.Fatalf("asked for %v", p.Asked)
	}
	p.Sees("Accept 0aaaa-codex?")
	p.wait()
	p.Press("y")
	p.asked("[{[accept 0aaaa-codex] true}]")
}

func TestAnActionAppliesToAllMarkedSessions(t *testing.T) {
	sessions := &fakeSessions{briefs: append(sampleBriefs(),
		summary.Summary{ID: "0eeee-codex", Created: noon, Phase: session.Ended, Changed: true, Files: 2, Added: 5},
		summary.Summary{ID: "0ffff-codex", Created: noon, Phase: session.Running})}
	p := newUser(t, sessions, 120, 40)
	p.m.list.order = byTime
	p.m.arrange()
	p.Press("ctrl+a")
	p.Sees("6 marked")
	p.Press("ctrl+a")
	p.DoesNotSee("marked")
	p.Press("home", "space", "space", "end", "space")
	p.Sees("▸*▲ to review  0aaaa-codex")
	p.Sees("3 marked")
	p.Press("x")
	p.Sees("Discard 2 sessions?")
	p.Sees("0eeee-codex, 0aaaa-codex")
	p.Sees("5 changed files (+45 -2)")
	p.Sees("This does not apply to 1")
	p.wait()
	p.Press("y")
	sessions.did(t, "[discard 0eeee-codex discard 0aaaa-codex]")
	p.Sees("2 sessions are discarded")
	p.Sees("1 marked")
	p.Press("esc")
	p.DoesNotSee("marked")
}

func TestAMarkThatIsFilteredAwayIsNotActedOn(t *testing.T) {
	p, sessions := open(t, 120, 40)
	p.Press("end", "space", "home", "/")
	p.Type("shell")
	p.Press("enter", "s")
	p.wait()
	p.Press("y")
	sessions.did(t, "[stop 0dddd-shell]")
}

func TestTheFirstOfSeveralFailuresIsReportedAndMarksStay(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs(), fail: errors.New("the disk is full")}
	p := newUser(t, sessions, 200, 60)
	p.Press("ctrl+a", "delete")
	p.wait()
	p.Press("y")
	p.Sees("2 of 2 failed: the disk is full")
	p.Sees("4 marked")
}

func TestOnlyMarkedSessionsOfTheListAreCompared(t *testing.T) {
	s := &fakeSessions{briefs: []summary.Summary{
		{ID: "0aaaa-codex", Agent: "codex", Phase: session.Ended, Created: noon, Ended: noon},
		{ID: "0bbbb-claude", Agent: "claude", Phase: session.Ended, Created: noon, Ended: noon},
		{ID: "0cccc-qwen", Agent: "qwen", Phase: session.Ended, Created: noon, Ended: noon},
	}}
	p := newUser(t, s, 120, 40)
	p.Press("ctrl+a", "/")
	p.Type("agent:codex,qwen")
	p.Press("enter", "=")
	if len(p.Asked) != 1 || p.Asked[0] != (page.Compare{IDs: "0aaaa-codex,0cccc-qwen"}) {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestABatchOrTheMarkedSessionsAreCompared(t *testing.T) {
	s := &fakeSessions{briefs: []summary.Summary{
		{ID: "0aaaa-codex", Batch: "b-0aaaa", Phase: session.Running, Created: noon, Started: noon},
		{ID: "0bbbb-claude", Batch: "b-0aaaa", Phase: session.Queued, Position: 1, Queue: "1 session running", Created: noon},
		{ID: "0cccc-qwen", Phase: session.Ended, Created: noon, Ended: noon},
	}}
	p := newUser(t, s, 120, 40)
	p.Press("g", "=")
	if len(p.Asked) != 1 || p.Asked[0] != (page.Compare{Batch: "b-0aaaa"}) {
		t.Fatalf("asks for %v", p.Asked)
	}
	p.Sees("⋯ queued 1")
	p.Press("G", "=") // a single session
	if len(p.Asked) != 1 {
		t.Fatalf("asks for %v", p.Asked)
	}
	p.Press("v", "v", "v", "v")
	p.Sees("b-0aaaa (2)")
	p.Sees("no batch (1)")
	p.Press("g", "j")
	p.Sees("place 1 in the queue: 1 session running")
	p.Press("ctrl+a", "=")
	if len(p.Asked) != 2 || p.Asked[1] != (page.Compare{IDs: "0aaaa-codex,0bbbb-claude,0cccc-qwen"}) {
		t.Errorf("asks for %v", p.Asked)
	}
}
