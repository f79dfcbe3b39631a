package dashboard

import (
	"context"
	"testing"

	"aibox/app/doctor"
	"aibox/app/firstrun"
	"aibox/bakery"
	"aibox/internal/secret"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/welcome"

	tea "charm.land/bubbletea/v2"
)

// fresh is a machine with Docker and nothing else.
type fresh struct{ looks int }

func (f *fresh) Checks() []doctor.Check {
	f.looks++
	one := func(part doctor.Part, found doctor.Finding) doctor.Check {
		return doctor.Check{Name: found.Name, Part: part, Run: func(context.Context) []doctor.Finding { return []doctor.Finding{found} }}
	}
	return []doctor.Check{
		one(doctor.Docker, doctor.Finding{Name: "Docker", State: doctor.OK, Detail: "29.1.0, rootless true"}),
		one(doctor.Images, doctor.Finding{Name: "image codex", State: doctor.Warning, Detail: "missing", Fix: "aibox bake codex", Image: "codex", Agent: true}),
		one(doctor.Model, doctor.Finding{Name: "model", State: doctor.Warning, Detail: "there is no model to use", Fix: "start Ollama"}),
	}
}

// choices are the choices of a user without a key, with a model server that has one model.
type choices struct{ kept []string }

func (*choices) Agents(context.Context) ([]firstrun.Agent, error) {
	return []firstrun.Agent{
		{Name: "opencode", Title: "OpenCode", Summary: "Open-source coding agent for any model", Image: "opencode"},
		{Name: "codex", Title: "Codex", Summary: "OpenAI's coding agent", Image: "codex"},
	}, nil
}

func (*choices) Models(context.Context, string) (firstrun.Models, error) {
	return firstrun.Models{Servers: []firstrun.Server{
		{Inference: "ollama", Title: "ollama", Local: true, Models: []string{"qwen3-coder:30b"}},
		{Inference: "openai", Title: "OpenAI", KeyName: "OPENAI_API_KEY"},
	}}, nil
}

func (*choices) ListModels(context.Context, string) ([]string, error) { return []string{"gpt"}, nil }

func (*choices) UseKey(string, secret.Value) {}

func (c *choices) Keep(_ context.Context, key, text string) error {
	c.kept = append(c.kept, key+"="+text)
	return nil
}

// images are builds, none of which is running.
type images struct{}

func (images) Put(bool, ...string) {}

func (images) Jobs() []bakery.Job { return nil }

func (images) Changed(context.Context) <-chan struct{} {
	changed := make(chan struct{})
	close(changed)
	return changed
}

func newcomer(t *testing.T, sessions Sessions, machine *fresh, width, height int) *uitest.User {
	m := New(t.Context(), sessions, welcome.Services{Machine: machine, Images: images{}, Choices: new(choices)})
	p := uitest.New(t, m, width, height)
	p.Run(m.load())
	return p
}

func TestAUserWithoutSessionsSeesTheStepsToTheFirst(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newcomer(t, &fakeSessions{}, &fresh{}, size[0], size[1])
		p.Show("no session yet")
		p.Golden("first-")
	}
	machine := &fresh{}
	p := newcomer(t, &fakeSessions{}, machine, 80, 24)
	p.Sees("▸ 2 · an agent")
	p.Press("n")
	if len(p.Asked) != 1 || p.Asked[0] != (page.NewRun{}) {
		t.Errorf("asked %+v", p.Asked)
	}
	p.Send(page.Returned{})
	if machine.looks != 2 {
		t.Errorf("%d looks", machine.looks)
	}
}

func TestTheListOfStepsTakesPastesTheWheelAndClicks(t *testing.T) {
	p := newcomer(t, &fakeSessions{}, &fresh{}, 80, 24)
	p.ClickOn("a model")
	p.Sees("▸ 3 · a model")
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	p.Sees("▸ OpenAI")
	p.ClickOn("OpenAI")
	p.Sees("key ›")
	p.Send(tea.PasteMsg{Content: "sk-0123456789"})
	p.DoesNotSee("sk-0123456789")
	p.Press("enter")
	p.Sees("▸ gpt")
	p.Press("?", "esc") // text
	p.Sees("▸ OpenAI")
}

func TestWithASessionTheMachineIsNotLookedAt(t *testing.T) {
	machine := &fresh{}
	m := New(t.Context(), &fakeSessions{briefs: sampleBriefs()}, welcome.Services{Machine: machine, Images: images{}, Choices: new(choices)})
	p := uitest.New(t, m, 80, 24)
	p.Send(sessionsLoaded{all: sampleBriefs()})
	p.Send(page.Returned{})
	p.DoesNotSee("your session")
	if machine.looks != 0 {
		t.Errorf("%d looks", machine.looks)
	}
}
