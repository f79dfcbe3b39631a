package changes

import (
	"strings"
	"testing"

	"aibox/review/accept"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

func TestADeliveredBranchIsShownWithTheCommandThatMergesIt(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "enter")
	p.wait()
	p.Press("ctrl+s")
	p.Sees("git merge aibox/0aaaa")
	copied := p.m.Update(keymap.Press("y"))
	if copied == nil || copied() != tea.SetClipboard("git merge aibox/0aaaa")() {
		t.Error("y does not copy the command")
	}
	p.Sees("copied")
	if len(p.Asked) != 0 || p.m.Leaving() != nil {
		t.Errorf("%v", p.Asked)
	}
	p.Press("esc")
	if said, ok := p.Asked[0].(page.Close); !ok || !strings.Contains(said.Text, "accepted on branch aibox/0aaaa") {
		t.Errorf("%v", p.Asked)
	}
}

func TestTheBranchIsNamedAndCheckedAsTyped(t *testing.T) {
	p, services := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "enter")
	p.wait()
	p.Sees("Branch  aibox/0aaaa")
	p.Press("tab")
	p.Type("..x")
	p.Sees("aibox/0aaaa..x cannot be the name of a branch")
	p.Press("ctrl+s")
	if len(services.accepts) > 0 {
		t.Fatal("a branch with a bad name is made")
	}
	p.Press("backspace", "backspace", "backspace", "-", "2", "tab")
	p.Type("!")
	p.Press("esc", "enter")
	p.Sees("Branch  aibox/0aaaa-2")
	p.accept()
	if got := services.accepts[0]; got.Branch != "aibox/0aaaa-2" || !strings.Contains(got.Message, "!") {
		t.Errorf("%+v", got)
	}
}

func TestTheTargetOfTheLastDeliveryIsProposed(t *testing.T) {
	p, services := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "T", "enter")
	p.accept()
	if services.target != accept.ToWorktree || services.accepts[0].Branch != "" {
		t.Errorf("remembered %v, accepted %+v", services.target, services.accepts[0])
	}
	if again := newUser(t, services, 120, 40); again.m.draft.Target() != accept.ToWorktree {
		t.Error("the next review begins with a branch")
	}
}
