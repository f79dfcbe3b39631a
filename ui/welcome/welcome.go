// Package welcome leads a user without sessions to the first one, in steps on one screen:
// it checks the machine, bakes an agent, chooses a model, and opens a new run with these
// choices. It is a part of the dashboard, and does nothing once a session exists.
package welcome

import (
	"context"
	"time"

	"aibox/app/doctor"
	"aibox/app/firstrun"
	"aibox/internal/secret"
	"aibox/ui/checkup"
	"aibox/ui/page"
	"aibox/ui/widget/bakes"

	tea "charm.land/bubbletea/v2"
)

// Builder bakes the images of agents.
type Builder interface {
	bakes.Builder
	// Put queues images to bake.
	Put(force bool, names ...string)
}

// Choices are the values that the user chooses from.
type Choices interface {
	// Agents returns the agents that can run here, the one to suggest first.
	Agents(ctx context.Context) ([]firstrun.Agent, error)
	// Models returns the model servers for an agent.
	Models(ctx context.Context, agent string) (firstrun.Models, error)
	// ListModels returns the models of a server, whose key must be known.
	ListModels(ctx context.Context, inference string) ([]string, error)
	// UseKey keeps a key of a model server until the program ends.
	UseKey(variable string, key secret.Value)
	// Keep saves a setting as the user's default.
	Keep(ctx context.Context, key, text string) error
}

// Services are the use cases of the steps.
type Services struct {
	Machine checkup.Machine // nil: only describe how to start a run
	Images  Builder
	Choices Choices
}

// stepID is a step.
type stepID int

// The steps, in order.
const (
	stepMachine stepID = iota
	stepAgent
	stepModel
	stepSession
	stepCount
)

// Model holds the steps. Make one with New.
type Model struct {
	services Services
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd
	checkup  *checkup.Checkup
	begun    bool
	ticking  bool

	at     stepID    // the selected step
	moved  bool      // the user has selected it, so that it stays selected
	turned time.Time // when what enter would do changed, other than by a key
	agent  agentStep
	model  modelStep
	loads  page.Latest // of models
	names  page.Latest // of a server, until the user leaves the question
	err    error       // of the last action
	shown  placement   // of the last View
}

// New makes a model that has not checked anything yet.
func New(services Services) *Model {
	return &Model{
		services: services, now: time.Now, checkup: checkup.New(services.Machine), model: newModelStep(),
		after: page.After,
	}
}

// Begin checks the machine and loads the choices unless that was done before.
func (m *Model) Begin(ctx context.Context) tea.Cmd {
	if m.begun || m.services.Machine == nil {
		return nil
	}
	return tea.Batch(m.Again(ctx), bakes.Watch(ctx, m.services.Images))
}

// Again checks the machine and loads the choices again.
func (m *Model) Again(ctx context.Context) tea.Cmd {
	if m.services.Machine == nil {
		return nil
	}
	m.begun, m.err = true, nil
	choices := m.services.Choices
	return tea.Batch(m.checkup.Begin(ctx), func() tea.Msg {
		all, err := choices.Agents(ctx)
		return agentsLoaded{all, err}
	})
}

// The answers to the commands of the steps.
type (
	agentsLoaded struct {
		all []firstrun.Agent
		err error
	}
	modelsLoaded struct {
		models firstrun.Models
		err    error
	}
	namesLoaded struct {
		names []string
		err   error
	}
	kept struct{ err error }
	tick struct{}
)

// Take handles a message and reports whether it was one of its own.
func (m *Model) Take(ctx context.Context, msg tea.Msg) (cmd tea.Cmd, own bool) {
	before := m.target()
	cmd, own = m.take(ctx, msg)
	if m.target() != before {
		m.turned = m.now()
	}
	return cmd, own
}

func (m *Model) take(ctx context.Context, msg tea.Msg) (cmd tea.Cmd, own bool) {
	if cmd, own := m.checkup.Take(msg); own {
		return tea.Batch(cmd, m.settle(ctx)), true
	}
	switch msg := msg.(type) {
	case agentsLoaded:
		m.agent.all, m.err = msg.all, msg.err
		m.agent.focus()
		return m.settle(ctx), true
	case bakes.Changed:
		m.setJobs(msg)
		return tea.Batch(m.settle(ctx), msg.Next(ctx, m.services.Images, bakes.Debounce), m.scheduleTick()), true
	case tick:
		m.ticking = false
		return m.scheduleTick(), true
	case modelsLoaded:
		m.model.models, m.model.loaded, m.err = msg.models, true, msg.err
		m.model.refresh()
		return m.settle(ctx), true
	case namesLoaded:
		m.model.setNames(msg)
		return nil, true
	case kept:
		m.err = msg.err
		return nil, true
	}
	return nil, false
}

// settle chooses an agent that is ready, asks for the models of the chosen agent, and selects
// the next step unless the user has selected one.
func (m *Model) settle(ctx context.Context) tea.Cmd {
	m.agent.ready = m.readyImages()
	if m.agent.chosen == "" {
		m.agent.suggest()
		m.agent.focus()
	}
	if !m.moved {
		m.at = m.next()
	}
	agent := m.agent.likely()
	if agent == "" || agent == m.model.agent {
		return nil
	}
	return m.loadModels(ctx, agent)
}

// loadModels asks for the models of an agent.
func (m *Model) loadModels(ctx context.Context, agent string) tea.Cmd {
	if m.model.agent != "" && !m.model.scripted() { // another agent may speak another dialect
		m.model.chosen = nil
	}
	m.model.agent, m.model.loaded = agent, false
	choices := m.services.Choices
	return m.loads.Replace(func() tea.Msg {
		models, err := choices.Models(ctx, agent)
		return modelsLoaded{models, err}
	})
}

// keep saves the choices as the user's defaults.
func (m *Model) keep(ctx context.Context, settings ...[2]string) tea.Cmd {
	choices := m.services.Choices
	return func() tea.Msg {
		for _, setting := range settings {
			if err := choices.Keep(ctx, setting[0], setting[1]); err != nil {
				return kept{err}
			}
		}
		return kept{}
	}
}

// readyImages returns the images that match their recipes.
func (m *Model) readyImages() map[string]bool {
	ready := map[string]bool{}
	for _, f := range m.checkup.Findings() {
		ready[f.Image] = f.State == doctor.OK
	}
	for _, job := range m.agent.jobs {
		if done(job) {
			ready[job.Name] = true
		}
	}
	return ready
}

// setJobs stores the state of the bakes. When the bake for the selected step has ended, the next
// step can be selected automatically.
func (m *Model) setJobs(msg bakes.Changed) {
	before := m.agent.done()
	m.agent.jobs, m.agent.ready = msg.Jobs, m.readyImages()
	for _, job := range msg.Jobs {
		if done(job) {
			m.agent.ready[job.Name] = true
		}
	}
	if m.agent.done() && !before {
		m.agent.watching = false
		if m.at == stepAgent {
			m.moved = false
		}
	}
}

// scheduleTick schedules a redraw of the elapsed time of a bake in a second.
func (m *Model) scheduleTick() tea.Cmd {
	if m.ticking || m.agent.working() == nil {
		return nil
	}
	m.ticking = true
	return m.after(time.Second, tick{})
}
