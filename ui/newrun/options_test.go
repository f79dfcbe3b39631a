package newrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/agents/spec"
)

func TestAnAgentThatNoBoxCanServeIsNotTaken(t *testing.T) {
	p := open(t, newWorld(t))
	p.Type("amp")
	p.Press("enter")
	p.Sees("Amp talks to its vendor's servers only")
	if p.m.request.Agent != "" {
		t.Errorf("took %q", p.m.request.Agent)
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
