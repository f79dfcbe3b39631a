package newrun

import (
	"slices"

	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Asking returns the question that is open, or nil.
func (m *Model) Asking() *dialog.Confirm { return m.ask }

// Typing reports whether the screen takes every key.
func (m *Model) Typing() bool {
	switch {
	case m.ask != nil, m.start.state == starting:
		return true
	case !m.inside, m.at == stepStart:
		return false
	case m.at == stepOptions, m.at == stepSandbox: // in a list of fields, keys such as ? are commands
		return m.current().takesEsc()
	}
	return m.at != stepTask || !m.task.library.open
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.bindings.enablePrompts(len(m.task.library.prompts) > 0)
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.start.busy():
		return m.start.keys()
	case !m.inside:
		return []key.Binding{m.bindings.open, m.bindings.leave, m.bindings.toStart, m.bindings.copyCommand}
	}
	return m.current().keys()
}

// Keys returns the active keys: those of the current step, then those of every step.
func (m *Model) Keys() []keymap.Group {
	b := m.bindings
	b.enablePrompts(len(m.task.library.prompts) > 0)
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.start.busy():
		return []keymap.Group{{Title: "Start", Keys: m.start.keys()}}
	case !m.inside:
		step := keymap.Bind("choose a step", "up", "down", "k", "j")
		return []keymap.Group{{Title: "Steps", Keys: []key.Binding{step, b.open, b.leave, b.toStart, b.talk, b.copyCommand}}}
	}
	of := m.current().keys()
	groups := []keymap.Group{{Title: stepNames[m.at], Keys: of}}
	if m.at == stepTask && m.task.library.open {
		groups = append(groups, cursor.Keys())
	}
	var more []key.Binding
	for _, binding := range []key.Binding{b.toStart, b.talk, b.copyCommand} {
		if !slices.ContainsFunc(of, func(k key.Binding) bool { return k.Help() == binding.Help() }) {
			more = append(more, binding)
		}
	}
	return append(groups, keymap.Group{Title: "New run", Keys: more})
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if m.ask != nil {
		if answer := dialog.Answer(&m.ask, msg, m.now()); answer != nil {
			return answer.Do
		}
		return nil
	}
	if m.start.busy() {
		return m.updateStep(msg)
	}
	m.note.Say("", nil)
	switch {
	case key.Matches(msg, m.bindings.toStart):
		return m.enter(stepStart)
	case key.Matches(msg, m.bindings.talk):
		m.agent.interactive = !m.agent.interactive
		return m.refill()
	case msg.String() == "ctrl+y":
		return m.copyCommand()
	case !m.inside:
		return m.pressNavigation(msg)
	case msg.String() == "ctrl+c" && m.wanted.Edit != nil:
		return m.leave()
	case msg.String() == "esc" && !m.current().takesEsc(), msg.String() == "ctrl+c":
		m.inside = false
		return nil
	}
	return m.updateStep(msg)
}

// paste handles a paste. It is dropped where no text can be entered.
func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	if !m.inside || m.ask != nil || m.start.state == starting {
		return nil
	}
	return m.updateStep(msg)
}

// click goes to the step, or passes the click to the step, under the mouse.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || m.ask != nil || m.start.busy() {
		return nil
	}
	if id, ok := m.navigation().stepAt(msg.X, msg.Y); ok {
		return m.enter(id)
	}
	_, height := m.body()
	if msg.X -= m.left(); msg.X < 0 || msg.Y < m.top() || msg.Y >= m.top()+height {
		return nil
	}
	msg.Y -= m.top()
	m.inside = true
	return m.updateStep(msg)
}

// Leaving returns the question to answer before a start or a task is lost, or nil.
func (m *Model) Leaving() *dialog.Confirm {
	writes := m.task.prompt() != "" && !m.task.unedited()
	switch {
	case m.start.state == starting:
		text := "The run is still starting. It is canceled"
		if writes {
			text += ", and the task that you wrote is lost"
		}
		return &dialog.Confirm{Title: "Quit during the start?", Text: text + ".", Yes: "quit"}
	case m.start.state == started || !writes:
		return nil
	}
	return &dialog.Confirm{Title: "Leave without starting?", Text: "The task that you wrote will be lost.", Yes: "leave"}
}

// leave closes the screen. It asks first if a task would be lost.
func (m *Model) leave() tea.Cmd {
	question := m.Leaving()
	if question == nil {
		return page.Leave("", nil)
	}
	question.Do = page.Leave("", nil)
	m.ask = dialog.Ask(*question, m.now())
	return nil
}

// copyCommand copies the command line.
func (m *Model) copyCommand() tea.Cmd {
	m.note.Say("the command is copied", nil)
	return tea.SetClipboard(m.commandLine(m.request))
}
