package newrun

import (
	"fmt"
	"path/filepath"
	"strings"

	"aibox/config"
	"aibox/internal/termtext"
	"aibox/ui/form"

	tea "charm.land/bubbletea/v2"
)

// step is a part of the screen.
type step int

// The steps, in order.
const (
	where step = iota
	agent
	task
	options
	box
	begin
	steps // how many there are
)

var stepNames = [steps]string{"Repository", "Agent", "Task", "Options", "Sandbox", "Start"}

// enter goes to a step, and into it.
func (m *Model) enter(to step) tea.Cmd {
	if to < where || to >= steps {
		return nil
	}
	if to != begin && m.begin != nil && m.begin.err != nil {
		m.begin = nil // what failed may be mended now
	}
	m.step, m.inside = to, true
	m.where.repository.input.Blur()
	m.where.branch.input.Blur()
	m.agent.input.Blur()
	m.task.editor.Blur()
	m.fit()
	switch {
	case to == where && m.where.second:
		m.listBranches()
		return m.where.branch.input.Focus()
	case to == where:
		m.listRepositories()
		return m.where.repository.input.Focus()
	case to == agent:
		m.listAgents()
		return m.agent.input.Focus()
	case to == task:
		return m.task.editor.Focus()
	}
	return nil
}

// typed brings the step text, or a message of its own.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	_, pasted := msg.(tea.PasteMsg)
	_, key := msg.(tea.KeyPressMsg)
	if (pasted || key) && (!m.inside || m.ask != nil || m.begin != nil && m.begin.running) {
		return nil
	}
	switch m.step {
	case where:
		p := &m.where.repository
		if m.where.second {
			p = &m.where.branch
		}
		changed, cmd := p.update(msg)
		if changed {
			return tea.Batch(cmd, m.typedWhere())
		}
		return cmd
	case agent:
		_, cmd := m.agent.update(msg)
		return cmd
	case task:
		if m.task.opened {
			return nil
		}
		var cmd tea.Cmd
		m.task.editor, cmd = m.task.editor.Update(msg)
		if pasted || key {
			m.task.offer()
			m.fit()
		}
		return cmd
	case options, box:
		part := m.part()
		_, cmd := part.Update(msg)
		return tea.Batch(cmd, m.follow())
	}
	return nil
}

// part is the form of the step; nil when it has none.
func (m *Model) part() *form.Part {
	switch m.step {
	case options:
		return m.options.part
	case box:
		return m.box.part
	}
	return nil
}

// says is a step's choice in a few words, escaped.
func (m *Model) says(s step) string {
	switch s {
	case where:
		if m.repository() == "" {
			return "none yet"
		}
		name := strings.TrimSuffix(filepath.Base(m.repository()), ".git")
		if m.draft.Branch != "" {
			name += " " + m.draft.Branch
		}
		return termtext.Escape(name)
	case agent:
		word := termtext.Escape(m.draft.Agent)
		if m.draft.Agent == "" {
			word = "none yet"
		}
		if m.draft.Interactive {
			word += ", talks"
		}
		if m.mustBake() {
			word += ", to bake"
		}
		return word
	case task:
		first, _, more := strings.Cut(m.task.prompt(), "\n")
		if more {
			first += "…"
		}
		return termtext.Escape(first)
	case options:
		if n := len(m.draft.Options); n > 0 {
			return fmt.Sprintf("%d chosen", n)
		}
		return "as set"
	case box:
		settings, ok := m.box.part.Draft().(*config.Settings)
		if !ok {
			return ""
		}
		words := settings.Network + ", " + limit(settings)
		if n := len(m.files.hidden); n > 0 {
			words += fmt.Sprintf(", %d hidden", n)
		}
		return termtext.Escape(words)
	case begin:
		switch {
		case m.begin != nil && m.begin.running:
			return "starting"
		case m.session() != "":
			return "runs"
		case m.wrong() != nil:
			return "not yet"
		default:
			return "ready"
		}
	}
	return ""
}

// limit is the time limit in a word.
func limit(s *config.Settings) string {
	if s.Timeout == 0 {
		return "no limit"
	}
	return strings.TrimSuffix(strings.TrimSuffix(s.Timeout.String(), "0s"), "0m")
}
