package welcome

import (
	"context"
	"errors"
	"time"

	"aibox/app/doctor"
	"aibox/app/firstrun"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/internal/secret"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// readiness is whether this machine can start sandboxes.
func (m *Model) readiness() doctor.Readiness {
	return doctor.Ready(m.checkup.Findings(), m.checkup.Running)
}

// done reports whether a step is done. The session itself never is.
func (m *Model) done(id stepID) bool {
	switch id {
	case stepMachine:
		return m.readiness().State == doctor.OK
	case stepAgent:
		return m.agent.done()
	case stepModel:
		return m.model.done()
	default:
		return false
	}
}

// next returns the first step that is not done.
func (m *Model) next() stepID {
	for id := range stepSession {
		if !m.done(id) {
			return id
		}
	}
	return stepSession
}

// selectStep selects a step. An error belongs to the step before.
func (m *Model) selectStep(id stepID) {
	m.at, m.err = max(stepMachine, min(id, stepSession)), nil
	m.move()
}

// move records that the user has selected what is selected.
func (m *Model) move() { m.moved, m.turned = true, time.Time{} }

// advance selects the next step that is not done. A bake that is under way is not waited
// for, unless nothing else is left to do.
func (m *Model) advance() {
	m.moved = false
	m.at = m.next()
	if m.at == stepAgent && m.agent.working() != nil && !m.model.done() {
		m.selectStep(stepModel)
	}
}

// target is what do acts on: a step, and an agent or a model.
type target struct {
	step          stepID
	agent, server string
	model         string
}

func (m *Model) target() target {
	of := target{step: m.at}
	if a := m.agent.selected(); a != nil && m.at == stepAgent && !m.agent.watching {
		of.agent = a.Name
	}
	if r := m.model.selected(); r != nil && m.at == stepModel && !m.Typing() {
		of.model = r.name
		if r.server != nil {
			of.server = r.server.Inference
		}
	}
	return of
}

// errTurned is why do does nothing.
var errTurned = errors.New("something else was selected just now, so nothing is done; press the key again")

// do does the selected step, unless it was selected just before, other than by a key.
func (m *Model) do(ctx context.Context) tea.Cmd {
	m.err = nil
	if m.now().Sub(m.turned) < dialog.Grace {
		m.err = errTurned
		return nil
	}
	switch m.at {
	case stepMachine:
		return m.setUp()
	case stepAgent:
		return m.chooseAgent(ctx)
	case stepModel:
		return m.chooseModel(ctx)
	default:
		return m.startSession()
	}
}

// setUp fixes failed requirements of this machine by aibox's own setup or by a command for root.
// The user has to fix the others.
func (m *Model) setUp() tea.Cmd {
	r := m.readiness()
	fix := doctor.Finding{State: r.State, Fix: r.Fix}
	switch {
	case r.State == "":
		return nil
	case r.State == doctor.OK:
		m.advance()
		return nil
	}
	if args, own := fix.Command(); own {
		return page.Ask(page.Command{Args: args, Wait: true})
	}
	if command, root := fix.RootCommand(); root {
		return page.Ask(page.System{Command: command})
	}
	return page.Ask(page.Doctor{})
}

// chooseAgent chooses the selected agent, and bakes it if its image is missing. In place of
// the progress of a bake that failed or was canceled, it bakes again.
func (m *Model) chooseAgent(ctx context.Context) tea.Cmd {
	a := m.agent.selected()
	if m.agent.watching {
		a = m.agent.find(m.agent.chosen)
	}
	if a == nil || m.done(stepMachine) && m.agent.watching && m.agent.working() != nil {
		return nil
	}
	m.agent.chosen = a.Name
	cmds := []tea.Cmd{m.keep(ctx, [2]string{"agent", a.Name})}
	if m.model.agent != a.Name {
		cmds = append(cmds, m.loadModels(ctx, a.Name))
	}
	switch {
	case m.agent.ready[a.Image]:
		m.agent.watching = false
		m.advance()
	case !m.done(stepMachine):
		m.selectStep(stepMachine)
	default:
		m.agent.watching, m.moved = true, true
		builder, image := m.services.Images, a.Image
		if base := m.agent.jobOf(bakery.Base); base != nil && base.State == bakery.Failed {
			cmds = append(cmds, func() tea.Msg { builder.Put(false, bakery.Base); return nil })
		}
		cmds = append(cmds, func() tea.Msg { builder.Put(false, image); return nil })
	}
	return tea.Batch(cmds...)
}

// chooseModel chooses the selected model, or asks for the key or the model of its server.
func (m *Model) chooseModel(ctx context.Context) tea.Cmd {
	s := &m.model
	switch {
	case s.server != nil && s.typing:
		return m.takeKey(ctx)
	case s.server != nil:
		return m.takeName(ctx)
	}
	r := s.selected()
	switch {
	case !s.loaded || r == nil:
		return nil
	case r.server == nil:
		s.chosen = &firstrun.Model{Inference: firstrun.Scripted, Title: firstrun.Scripted}
		m.advance()
		return nil
	case r.server.Problem != nil:
		m.err = r.server.Problem
		return nil
	case r.name != "":
		return m.useModel(ctx, *r.server, r.name)
	}
	s.open(r.server)
	if s.typing {
		return nil
	}
	return m.listNames(ctx, r.server.Inference)
}

// takeKey takes the typed key and asks for the model.
func (m *Model) takeKey(ctx context.Context) tea.Cmd {
	s := &m.model
	if s.value() == "" {
		return nil
	}
	m.services.Choices.UseKey(s.server.KeyName, secret.New(s.value()))
	s.key.SetValue("")
	s.key.Blur()
	s.typing = false
	s.names.open()
	return m.listNames(ctx, s.server.Inference)
}

// listNames asks a server for its models.
func (m *Model) listNames(ctx context.Context, inference string) tea.Cmd {
	choices := m.services.Choices
	return m.names.Replace(func() tea.Msg {
		names, err := choices.ListModels(ctx, inference)
		return namesLoaded{names, err}
	})
}

// takeName chooses the named model.
func (m *Model) takeName(ctx context.Context) tea.Cmd {
	s := &m.model
	name, server := s.names.value(), *s.server
	if name == "" {
		return nil
	}
	s.close()
	return m.useModel(ctx, server, name)
}

// useModel chooses a model. It becomes the default, unless its key is lost when the program ends.
func (m *Model) useModel(ctx context.Context, server firstrun.Server, name string) tea.Cmd {
	m.model.chosen = &firstrun.Model{Inference: server.Inference, Name: name, Title: server.Title}
	m.advance()
	if server.NeedsKey() || server.Typed {
		return nil
	}
	return m.keep(ctx, [2]string{"inference", server.Inference}, [2]string{"model", name})
}

// task is the task of a session without a model. The built-in script does it.
const task = "Write a greeting to hello.txt."

// startSession opens a new run with the choices.
func (m *Model) startSession() tea.Cmd {
	begin := run.Request{Agent: m.agent.chosen}
	if c := m.model.chosen; c != nil {
		m.err = begin.Settings.Set("inference", c.Inference)
		if c.Name != "" && m.err == nil {
			m.err = begin.Settings.Set("model", c.Name)
		}
	}
	if m.model.scripted() {
		begin.Prompt = task
	}
	return page.Ask(page.NewRun{Begin: &begin})
}
