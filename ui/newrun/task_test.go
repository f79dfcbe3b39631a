package newrun

import (
	"strings"
	"testing"
)

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
	p.Sees("said before it: careful")
	p.Sees("--system=careful")
	p.Press("ctrl+l", "space")
	p.Press("esc")
	p.DoesNotSee("--system=careful")
}
