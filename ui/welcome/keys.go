package welcome

import (
	"context"

	"aibox/app/doctor"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

var (
	enter    = keymap.Bind("do this step", "enter")
	choose   = keymap.Bind("choose", "up", "down", "k", "j")
	forward  = keymap.Bind("next step", "tab")
	backward = keymap.Bind("previous step", "shift+tab")
	again    = keymap.Bind("check again", "r")
	toList   = keymap.Bind("back to the list", "esc")
	leaveJob = keymap.Bind("continue in the background", "esc")
	toBake   = keymap.Bind("show the progress", "p")
	cancel   = keymap.Bind("back to the list", "esc", "ctrl+c")
)

// Typing reports whether keys are text.
func (m *Model) Typing() bool { return m.at == stepModel && m.model.server != nil }

// Keys returns the keys that are active while there is no session.
func (m *Model) Keys() []key.Binding {
	if m.services.Machine == nil {
		return nil
	}
	if m.Typing() {
		use := keymap.Bind("use it", "enter")
		if m.model.typing {
			return []key.Binding{use, cancel}
		}
		return []key.Binding{use, keymap.Bind("choose", "up", "down"), cancel}
	}
	keys := make([]key.Binding, 0, 8)
	if verb := m.verb(); verb != "" {
		keys = append(keys, keymap.Bind(verb, "enter"))
	}
	if m.agent.watching && m.at == stepAgent {
		if m.agent.working() != nil {
			keys = append(keys, leaveJob)
		} else {
			keys = append(keys, toList)
		}
	} else if m.at == stepAgent || m.at == stepModel {
		keys = append(keys, choose)
	}
	if m.at == stepAgent && !m.agent.watching && m.agent.job() != nil {
		keys = append(keys, toBake)
	}
	if m.at < stepCount-1 {
		keys = append(keys, forward)
	}
	if m.at > 0 {
		keys = append(keys, backward)
	}
	return append(keys, again)
}

// verb describes what enter does; empty for nothing.
func (m *Model) verb() string {
	switch m.at {
	case stepMachine:
		return m.fixVerb()
	case stepAgent:
		return m.agentVerb()
	case stepModel:
		if !m.model.loaded {
			return ""
		}
		return "use it"
	default:
		return "start a new run"
	}
}

// fixVerb describes how enter fixes this machine.
func (m *Model) fixVerb() string {
	r := m.readiness()
	fix := doctor.Finding{State: r.State, Fix: r.Fix}
	_, own := fix.Command()
	_, root := fix.RootCommand()
	switch {
	case r.State == "":
		return ""
	case r.State == doctor.OK:
		return "continue"
	case own:
		return "set up this machine"
	case root:
		return "run this command"
	default:
		return "show all checks"
	}
}

// agentVerb describes what enter does with an agent.
func (m *Model) agentVerb() string {
	a := m.agent.selected()
	switch {
	case m.agent.watching && m.agent.working() != nil:
		return ""
	case m.agent.watching:
		return "bake again"
	case a == nil:
		return ""
	case m.agent.ready[a.Image]:
		return "use " + a.Name
	case !m.done(stepMachine):
		return "choose " + a.Name // it can be baked after that step
	default:
		return "bake " + a.Name
	}
}

// Press handles a key and reports whether it was one of its own.
func (m *Model) Press(ctx context.Context, msg tea.KeyPressMsg) (cmd tea.Cmd, own bool) {
	switch {
	case m.services.Machine == nil:
		return nil, false
	case key.Matches(msg, enter):
		return m.do(ctx), true
	case m.Typing():
		return m.typed(msg), true
	case key.Matches(msg, forward):
		m.selectStep(m.at + 1)
	case key.Matches(msg, backward):
		m.selectStep(m.at - 1)
	case key.Matches(msg, again):
		m.model.agent = ""
		return m.Again(ctx), true
	case m.at == stepAgent && m.agent.watching && key.Matches(msg, toList):
		m.agent.watching = false
		if m.agent.working() != nil {
			m.advance()
		}
	case m.at == stepAgent && !m.agent.watching && m.agent.job() != nil && key.Matches(msg, toBake):
		m.agent.watching = true
	case m.at == stepAgent && !m.agent.watching && m.agent.cursor.Press(msg):
		m.move()
	case m.at == stepModel && m.model.cursor.Press(msg):
		m.move()
		m.err = nil // it is about the row before
	default:
		return nil, false
	}
	return nil, true
}

// typed handles a key or a paste while keys are text.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	press, pressed := msg.(tea.KeyPressMsg)
	switch {
	case pressed && key.Matches(press, cancel):
		m.names.Cancel()
		m.model.close()
	case m.model.typing:
		m.model.key, _ = m.model.key.Update(msg)
	default:
		m.model.names.update(msg)
	}
	return nil
}

// Paste handles pasted text.
func (m *Model) Paste(msg tea.PasteMsg) tea.Cmd {
	if !m.Typing() {
		return nil
	}
	return m.typed(msg)
}

// Wheel handles the mouse wheel.
func (m *Model) Wheel(msg tea.MouseWheelMsg) {
	switch {
	case m.at == stepAgent && !m.agent.watching:
		m.agent.cursor.Wheel(msg)
		m.move()
	case m.Typing() && !m.model.typing:
		m.model.names.cursor.Wheel(msg)
	case m.at == stepModel && !m.Typing():
		m.model.cursor.Wheel(msg)
		m.move()
	}
}

// Click handles a click on a row of View: it selects a step or a line of a list. A click on
// the selected line does the step.
func (m *Model) Click(ctx context.Context, row int) tea.Cmd {
	if m.services.Machine == nil || row < 0 {
		return nil
	}
	if id := stepID(row - m.shown.steps); id >= 0 && id < stepCount && !m.shown.short {
		if m.at == id {
			return m.do(ctx)
		}
		m.model.close()
		m.selectStep(id)
		return nil
	}
	list := m.list()
	if list == nil {
		return nil
	}
	before := list.At()
	if row -= m.shown.list; row < 0 || !list.Click(row) {
		return nil
	}
	if list.At() == before {
		m.moved = true
		return m.do(ctx)
	}
	m.move()
	return nil
}
