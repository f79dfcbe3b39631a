package newrun

import (
	"context"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

func TestAMissingImageIsBakedWithAKey(t *testing.T) {
	w := newWorld(t)
	w.fail, w.noImage = fault.New(fault.Environment, "there is no image").Hint("aibox bake aider"), true
	p := open(t, w)
	p.Sees("to bake")
	p.Press("down", "enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("has to be baked first")
	p.Sees("! the image must be baked first: b at the start bakes it and starts")
	p.DoesNotSee("ready; nothing")
	p.Press("enter")
	p.Sees("b bakes the image")
	p.DoesNotSee("aibox bake") // a command beside the key that does the same
	p.Press("b")
	if len(w.started) != 2 || !strings.HasSuffix(w.started[1], "(baked)") || strings.HasSuffix(w.started[0], "(baked)") {
		t.Errorf("started %q", w.started)
	}
}

func TestTheSelectedAgentStaysSelectedWhenTheStatesOfImagesArrive(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.Press("enter", "shift+tab", "down") // codex is chosen
	p.Send(imagesLoaded{states: w.states})
	p.Press("enter")
	if p.m.request.Agent != "aider" {
		t.Errorf("the request is for %q", p.m.request.Agent)
	}
}

func TestAnImageOfAnEarlierRecipeIsCalledOutdated(t *testing.T) {
	w := newWorld(t)
	w.states["aider"] = "outdated"
	p := open(t, w)
	p.Sees("outdated")
	p.DoesNotSee("to bake")
	p.Press("down", "enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("is outdated, and has to be baked first")
}

func TestABakeThatWasTakenBackCanBeBegunAgain(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.Press("down", "enter")
	p.Type("mend it")
	w.fail = context.Canceled
	p.Press("ctrl+s", "enter")
	p.Sees("b bakes the image (some minutes) and starts · enter tries again")
	p.Press("b")
	if len(w.started) != 2 || !strings.HasSuffix(w.started[1], "(baked)") {
		t.Errorf("started %q", w.started)
	}
}

func TestAnImageThatIsKnownToBeMissingIsBakedAtOnce(t *testing.T) {
	w := newWorld(t)
	p := open(t, w)
	p.Press("enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.DoesNotSee("b bake")
	p.Press("b")
	if len(w.started) > 0 {
		t.Errorf("baked for an image that is there: %q", w.started)
	}
	p = open(t, w)
	p.Press("down", "enter")
	p.Type("mend it")
	p.Press("ctrl+s")
	p.Sees("b bakes it and starts")
	p.Sees("b bake the image and start")
	p.Press("b")
	if len(w.started) != 1 || !strings.HasSuffix(w.started[0], "(baked)") || p.last() != page.Request(page.Session{ID: "0dq4f-codex"}) {
		t.Errorf("started %q, asked for %+v", w.started, p.last())
	}
	p.DoesNotSee("to bake")
}

func TestAStartThatWaitsForACheckStillBakes(t *testing.T) {
	for name, check := range map[string]struct {
		begin func(*Model)
		done  func(*Model) tea.Msg
	}{
		"the request": {func(m *Model) { m.checker.running = true }, func(m *Model) tea.Msg { return checkDone{m.checker.result, nil} }},
		"the model":   {func(m *Model) { m.model.running = true }, func(*Model) tea.Msg { return modelChecked{} }},
	} {
		for key, want := range map[string]bool{"b": true, "enter": false} {
			w := newWorld(t)
			p := open(t, w)
			p.Press("down") // to an agent whose image is missing
			p.tell("mend it")
			p.Press("ctrl+s")
			check.begin(p.m)
			p.Press(key)
			p.Send(check.done(p.m))
			if len(w.started) != 1 || strings.HasSuffix(w.started[0], "(baked)") != want {
				t.Errorf("%s, %s: started %q", name, key, w.started)
			}
		}
	}
}
