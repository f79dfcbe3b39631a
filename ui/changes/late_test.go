package changes

import (
	"testing"

	"aibox/internal/fault"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
)

// Dialogs that appear when a command has ended must not take a key that the user pressed
// for what was on the screen before.
func TestADialogThatAppearsByItselfTakesNoKeyForSomethingElse(t *testing.T) {
	p, services := open(t)
	p.Press("A")
	p.Person.Press("enter", "x", "esc", "ctrl+t") // at once
	target := p.m.draft.Target()
	if !p.m.delivery.asks() || p.m.delivery.question.message.Value() != p.m.delivery.question.proposed || target != p.m.draft.Target() {
		t.Fatalf("the last question took a key: open %v", p.m.delivery.asks())
	}
	services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/r", Conflicts: []worktree.Step{{Path: "README.md", Action: worktree.ActionConflict, Reason: "r"}}})
	p.wait()
	p.Person.Press("ctrl+s", "l", "b", "esc", "enter")
	if p.m.conflict == nil || p.m.draft.Target() != target {
		t.Fatal("the conflict took a key")
	}
	p.wait()
	p.Press("esc")
	if p.m.conflict != nil {
		t.Fatal("the conflict takes no key")
	}
}

func TestTheResultOfADeliveryClosesOnlyOnceItCanBeRead(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "enter")
	p.Person.Press("ctrl+s", "y", "enter", "q")
	if p.m.result == nil || p.m.result.copied || len(p.Asked) > 0 {
		t.Fatalf("the result took a key: %v", p.Asked)
	}
	p.wait()
	p.Press("enter")
	if len(p.Asked) != 1 {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestTheEndOfAVerificationTakesNoKeyThatWasMeantToStopIt(t *testing.T) {
	set := worked(t)
	services := &recorded{set: set, verify: func(session.VerifyRequest) (session.Verification, error) {
		return session.Verification{Tree: set.Tree}, nil
	}}
	p := newUser(t, services, 120, 40)
	p.Press("v")
	p.Type("make")
	p.Person.Press("enter", "v", "esc")
	if !p.m.verify.shown() || p.m.verify.asks() {
		t.Error("the result took a key")
	}
	if tally := p.m.draft.Tally(); tally != (decision.Tally{}) && tally.Accepted+tally.Rejected > 0 {
		t.Errorf("%+v", tally)
	}
}
