package newrun

import (
	"strings"
	"testing"

	"aibox/app/run"
	"aibox/ui/page"
)

func TestSeveralAgentsAreChosenForOneTask(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("space", "down", "space")
	p.Sees("✓ codex")
	p.Sees("✓ aider")
	p.tell("fix it")
	p.Press("tab")
	p.Sees("Each agent runs with the options of your settings.")
	p.Press("ctrl+s")
	p.Sees("agents")
	p.Sees("codex, aider")
	p.Sees("2 side by side")
	p.Sees("has to be baked first")
	p.Press("enter")
	if len(p.w.started) != 1 || !strings.HasPrefix(p.w.started[0], "run codex,aider ") {
		t.Fatalf("started %q", p.w.started)
	}
	if p.last() != page.Request(page.Compare{Batch: "b-0dq4f"}) {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestAnAgentIsTakenOutOfSeveral(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("space", "down", "space", "space")
	p.Sees("✓ codex")
	p.DoesNotSee("✓ aider")
	p.Press("space", "up", "space")
	p.DoesNotSee("✓ codex")
	p.Sees("✓ aider")
	p.Press("space", "down", "down")
	p.tell("echo") // another one alone
	if got := p.m.request.Agent; got != "shell" {
		t.Errorf("the agent is %q", got)
	}
}

func TestAnAgentThatCannotBeServedIsNotAddedToOthers(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("space", "down", "down", "down", "space")
	p.Sees("vendor's servers only")
	if got := p.m.agent.name; got != "codex" {
		t.Errorf("the agent is %q", got)
	}
}

func TestTheListOfAgentsShowsWhereTheUserIsLoggedIn(t *testing.T) {
	w := newWorld(t)
	open(t, w).DoesNotSee("logged in")
	w.loggedIn = true
	open(t, w).Sees("logged in; Its own cloud")
}

func TestTheAgentsOfTheLastRunAreChosenAgain(t *testing.T) {
	w := newWorld(t)
	place := w.places["/home/ann/shop"]
	place.Last = &run.Request{Agent: "codex,aider", Repository: place.Top, Prompt: "again"}
	w.places["/home/ann/shop"] = place
	p := open(t, w)
	p.Press("shift+tab")
	p.Sees("✓ codex")
	p.Sees("✓ aider")
}

func TestTheScreenSaysThatNoAgentMatchesAndThatNoneIsChosen(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("z")
	p.Sees("no agent matches; ctrl+u clears the text")
	p.Press("ctrl+u")
	p.DoesNotSee("no agent matches")
	p.Press("ctrl+s")
	p.Sees("none yet, unattended")
	p.DoesNotSee("agents")
}
