package changes

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"aibox/internal/fault"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/manager"
	"aibox/ui/widget/keymap"
)

// Dialogs that appear when a command has ended must not take a key that the user pressed
// for what was on the screen before.
func TestADialogThatAppearsByItselfIgnoresKeysMeantForTheScreen(t *testing.T) {
	p, services := open(t)
	p.Press("A")
	p.User.Press("enter", "x", "esc", "ctrl+t") // at once
	target := p.m.draft.Target()
	if !p.m.delivery.asks() || p.m.delivery.question.message.Value() != p.m.delivery.proposed || target != p.m.draft.Target() {
		t.Fatalf("the last question took a key: open %v", p.m.delivery.asks())
	}
	services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/r", Conflicts: []worktree.Step{{Path: "README.md", Action: worktree.ActionConflict, Reason: "r"}}})
	p.wait()
	p.User.Press("ctrl+s", "l", "b", "esc", "enter")
	if p.m.conflict == nil || p.m.draft.Target() != target {
		t.Fatal("the conflict took a key")
	}
	p.wait()
	p.Press("esc")
	if p.m.conflict != nil {
		t.Fatal("the conflict takes no key")
	}
}

// If the user has continued before a question is ready, a line reports it: the keys before and
// after it have their usual effect.
func TestAQuestionThatComesTooLateIsShownAsALineAndHandlesNoKey(t *testing.T) {
	p, services := open(t)
	p.Press("A")
	before := p.m.draft.Tally()
	plan := p.m.Update(keymap.Press("enter"))
	p.goTo("src/big.txt")
	p.Press("x")
	p.Run(plan)
	if got := p.m.draft.Tally(); p.m.delivery.asks() || got.Mixed+got.Rejected == before.Mixed+before.Rejected {
		t.Errorf("the question is open: %v, %+v", p.m.delivery.asks(), got)
	}
	plan = p.m.Update(keymap.Press("enter"))
	p.Press("esc")
	p.Sees("you went on, so nothing is accepted; enter asks again")
	p.Run(plan)
	p.Sees("you went on, so nothing is accepted; enter asks again")
	if p.m.ask != nil || p.m.delivery.asks() || len(p.Asked) > 0 {
		t.Error("esc did not only call it off")
	}
	p.Press("enter")
	p.accept()
	if len(services.accepts) != 1 {
		t.Errorf("accepted %d times", len(services.accepts))
	}
}

func TestTheResultOfADeliveryClosesOnlyOnceItCanBeRead(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "enter")
	p.User.Press("ctrl+s", "y", "enter", "q")
	if p.m.result == nil || p.m.result.copied || len(p.Asked) > 0 {
		t.Fatalf("the result took a key: %v", p.Asked)
	}
	p.wait()
	p.Press("enter")
	if len(p.Asked) != 1 {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestAKeyThatStopsAVerificationHasNoEffectAfterItsEnd(t *testing.T) {
	set := worked(t)
	services := &recorded{set: set, verify: func(manager.VerifyRequest) (session.Verification, error) {
		return session.Verification{Tree: set.Tree}, nil
	}}
	p := newUser(t, services, 120, 40)
	p.Press("v")
	p.Type("make")
	p.User.Press("enter", "v", "esc")
	if !p.m.verify.shown() || p.m.verify.asks() {
		t.Error("the result took a key")
	}
	if tally := p.m.draft.Tally(); tally != (decision.Tally{}) && tally.Accepted+tally.Rejected > 0 {
		t.Errorf("%+v", tally)
	}
}

// deliverSlowly confirms the last question and returns the command that delivers.
func deliverSlowly(p *user) tea.Cmd {
	p.Press("A", "enter")
	p.wait()
	return p.m.Update(keymap.Press("ctrl+s"))
}

func TestADeliveryUnderWayIsNotDeniedAndNotLeftWithoutAQuestion(t *testing.T) {
	p, services := open(t)
	deliver := deliverSlowly(p)
	if q := p.m.Leaving(); q == nil || !strings.Contains(q.Text, "is being delivered") || strings.Contains(q.Text, "accepted yet") {
		t.Errorf("asks %+v", q)
	}
	p.Run(deliver)
	if len(services.accepts) != 1 || p.m.result == nil {
		t.Errorf("accepts %+v", services.accepts)
	}
}

func TestAVerificationUnderWayIsNotStoppedWithoutAQuestion(t *testing.T) {
	p, _ := open(t)
	p.m.verify = &verification{started: true, hidden: true}
	p.Press("q")
	p.Sees("Leave the review?")
	p.Sees("The verification is stopped.")
	p.Press("n")
	p.m.verify.ended = true
	if q := p.m.Leaving(); q != nil {
		t.Errorf("after its end it asks %+v", q)
	}
}

func TestADeliveryCanBeCanceled(t *testing.T) {
	p, _ := open(t)
	deliver := deliverSlowly(p)
	p.Sees("esc cancel")
	p.Press("esc")
	p.Sees("canceling the delivery…")
	p.Run(deliver)
	p.Sees("the delivery was canceled")
	if p.m.result != nil || len(p.Asked) > 0 {
		t.Errorf("asks for %v", p.Asked)
	}
	p.Press("enter") // the decisions are kept
	p.wait()
	p.Press("ctrl+s")
	if p.m.result == nil {
		t.Errorf("nothing is delivered later:\n%s", p.View())
	}
}
