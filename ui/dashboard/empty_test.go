package dashboard

import (
	"context"
	"testing"

	"aibox/app/doctor"
	"aibox/ui/page"
	"aibox/ui/uitest"
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

func newcomer(t *testing.T, sessions Sessions, machine *fresh, width, height int) *uitest.Person {
	m := New(t.Context(), sessions, machine)
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
	p.Press("enter", "n")
	p.ClickOn("a model")
	want := []page.Request{page.Images{}, page.NewRun{}, page.Doctor{}}
	for i, asked := range p.Asked {
		if i >= len(want) || asked != want[i] {
			t.Errorf("asked %+v", p.Asked)
			break
		}
	}
	p.Send(page.Returned{})
	if machine.looks != 2 || len(p.Asked) != len(want) {
		t.Errorf("%d looks, asked %+v", machine.looks, p.Asked)
	}
}

func TestWithASessionTheMachineIsNotLookedAt(t *testing.T) {
	machine := &fresh{}
	m := New(t.Context(), &fakeSessions{briefs: sampleBriefs()}, machine)
	p := uitest.New(t, m, 80, 24)
	p.Send(sessionsLoaded{all: sampleBriefs()})
	p.Send(page.Returned{})
	p.DoesNotSee("a first run")
	if machine.looks != 0 {
		t.Errorf("%d looks", machine.looks)
	}
}
