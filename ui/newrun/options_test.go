package newrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
)

func TestAnAgentThatCannotRunInASandboxIsNotAccepted(t *testing.T) {
	p := open(t, newWorld(t))
	p.Type("amp")
	p.Press("enter")
	p.Sees("Amp talks to its vendor's servers only")
	if p.m.request.Agent != "" {
		t.Errorf("took %q", p.m.request.Agent)
	}
}

func TestTheCloudOfAnAgentIsAcceptedOnce(t *testing.T) {
	w := newWorld(t)
	w.clouds = true
	p := open(t, w)
	now := noon
	p.m.now = func() time.Time { now = now.Add(time.Second); return now } // longer than questions ignore keys
	p.Type("amp")
	p.Press("enter")
	p.Sees("Let Amp talk to its vendor's servers?")
	p.Sees("amp.example")
	p.Sees(`evil\x1b[2J.example`)
	p.Press("enter") // cancel has the focus
	if p.m.request.Agent != "" || len(w.accepted) > 0 {
		t.Errorf("took %q, accepted %v", p.m.request.Agent, w.accepted)
	}
	p.Press("enter", "y")
	if p.m.request.Agent != "amp" || !w.accepted["amp"] || p.m.at != stepTask {
		t.Errorf("took %q, accepted %v, at step %v", p.m.request.Agent, w.accepted, p.m.at)
	}
	p.Press("shift+tab")
	p.Type("amp")
	p.Press("enter")
	if p.m.ask != nil || p.m.at != stepTask {
		t.Errorf("it asks again:\n%s", p.View())
	}
}

func TestAnAgentWhoseCloudIsAcceptedIsAddedToTheOthers(t *testing.T) {
	w := newWorld(t)
	w.clouds = true
	p := open(t, w)
	now := noon
	p.m.now = func() time.Time { now = now.Add(time.Second); return now } // longer than questions ignore keys
	p.Press("space")
	p.Type("amp")
	p.Press("space", "y")
	if p.m.request.Agent != "codex,amp" || !w.accepted["amp"] || p.m.at != stepAgent {
		t.Errorf("took %q, accepted %v, at step %v", p.m.request.Agent, w.accepted, p.m.at)
	}
	p.Press("space") // removes it
	if p.m.request.Agent != "codex" {
		t.Errorf("took %q", p.m.request.Agent)
	}
}

func TestTheQuestionAboutACloudNamesTheNewHosts(t *testing.T) {
	w := newWorld(t)
	w.clouds, w.hosts = true, []string{"amp.example"}
	p := open(t, w)
	p.Type("amp")
	p.Press("enter")
	p.Sees("Let Amp talk to more of its vendor's servers?")
	p.Sees(`evil\x1b[2J.example`)
	p.DoesNotSee("amp.example")
}

func TestTheCloudOfARunIsAcceptedAtTheStart(t *testing.T) {
	w := newWorld(t)
	w.clouds, w.unwritable = true, errors.New("the settings are read-only")
	p := open(t, w)
	now := noon
	p.m.now = func() time.Time { now = now.Add(time.Second); return now }
	p.tell("fix it")
	if err := p.m.sandbox.part.Set("inference", "cloud"); err != nil {
		t.Fatal(err)
	}
	p.Run(p.m.compose())
	p.Press("ctrl+s")
	p.Sees("Codex talks to its vendor's servers")
	p.Press("enter")
	p.Sees("Let Codex talk to its vendor's servers?")
	p.Press("y")
	p.Sees("the settings are read-only")
	w.unwritable = nil
	p.Press("enter", "y")
	p.Sees("accepted")
	p.Press("enter")
	if len(w.started) != 1 || !strings.Contains(w.started[0], "--inference=cloud") {
		t.Errorf("started %q", w.started)
	}
}

func TestOptionsFollowTheAgentAndTheWayOfRunning(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "tab")
	p.Sees("Effort")
	p.DoesNotSee("Web")
	p.Press("enter", "up", "enter")
	p.Sees("--effort=low")
	p.Press("ctrl+t")
	p.Sees("Web")
	p.Sees("--effort=low")
	p.Press("esc", "up", "up", "enter", "down", "enter")
	if len(p.m.request.Options) > 0 || p.m.request.Agent != "aider" {
		t.Errorf("another agent has %+v", p.m.request)
	}
}

func TestATypedSecretGoesToTheStartAndNowhereElse(t *testing.T) {
	p := open(t, newWorld(t))
	p.tell("mend it")
	p.Press("tab", "down", "down")
	p.Type("canary")
	p.DoesNotSee("canary")
	p.Press("ctrl+s")
	p.DoesNotSee("canary")
	p.Press("enter")
	if !slices.Equal(p.w.secrets, []string{"canary"}) {
		t.Errorf("the start was given %q", p.w.secrets)
	}
	if text := fmt.Sprintf("%+v %q %+v", p.m.request, p.w.started, p.w.remembered); strings.Contains(text, "canary") {
		t.Errorf("it is in %s", text)
	}
}

func TestModelsAreThoseOfTheServerThatIsChosen(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "esc", "down", "down", "enter")
	p.goTo("model")
	p.Press("enter")
	p.Sees("qwen3")
	p.Press("esc")
	p.goTo("inference")
	p.Type("openai")
	p.Press("enter")
	p.goTo("model")
	p.Press("enter")
	p.Sees("gpt")
	p.DoesNotSee("qwen3")
	if p.m.request.Settings.Text("inference") != "openai" {
		t.Errorf("got %+v", p.m.request.Settings)
	}
}

func TestHiddenFilesAreShownAsTheGlobsAreTyped(t *testing.T) {
	p := open(t, newWorld(t))
	p.tell("x")
	p.Press("esc", "down", "down", "enter")
	p.Sees("1: .env")
	p.goTo("hide")
	p.Type("vault")
	p.Sees("2: .env · vault/key")
	p.Sees("--hide=vault")
	p.Press("backspace", "backspace", "backspace", "backspace", "backspace")
	p.Sees("1: .env")
	p.DoesNotSee("--hide")
}

func TestPathsAreSuggestedFromTheTopOfTheRepository(t *testing.T) {
	p := open(t, newWorld(t))
	got := p.m.suggestions()(spec.Field{Type: spec.Path})
	if want := []string{"README.md", "cmd", "internal", "vault"}; !slices.Equal(got, want) {
		t.Errorf("suggested are %q", got)
	}
}

func TestCommandKeysWorkInAListOfFieldsUntilOneIsEdited(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("enter", "tab")
	p.Sees("Effort")
	for _, edits := range []string{"enter", "/"} {
		if p.m.Typing() {
			t.Errorf("before %q, keys such as ? are text", edits)
		}
		p.Press(edits)
		if !p.m.Typing() {
			t.Errorf("after %q, keys such as ? are commands", edits)
		}
		p.Press("esc")
	}
}
