package newrun

import (
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
)

// listAgents makes the list of agents.
func (m *Model) listAgents() {
	items := make([]item, 0, len(m.agents))
	for _, a := range m.agents {
		it := item{value: a.Name, label: termtext.Escape(a.Name), detail: m.imageWord(a) + termtext.Escape(a.Summary), off: a.Unservable != nil}
		if a.Name == m.draft.Agent {
			it.mark = "✓"
		}
		items = append(items, it)
	}
	m.agent.offer(items, m.draft.Agent)
}

// imageWord says how the agent's image stands, in a column of its own.
func (m *Model) imageWord(a Agent) string {
	word := ""
	switch state := m.images[a.Name]; {
	case a.Unservable != nil:
		word = "cannot run"
	case m.noImage != nil:
		word = "no Docker"
	case m.images == nil:
		word = "…"
	case state == imageFresh:
		word = "ready"
	case state == "":
		word = "?"
	case state == imageOutdated:
		word = "outdated"
	default:
		word = "to bake"
	}
	return frame.Pad(word, 12)
}

// The states of images that have words of their own here: one that can be run, and one
// of an earlier recipe.
const (
	imageFresh    = "fresh"
	imageOutdated = "outdated"
)

// mustBake reports whether the agent's image is known not to be there.
func (m *Model) mustBake() bool {
	state, known := m.images[m.draft.Agent]
	return known && state != imageFresh && m.box.image() == ""
}

// pressAgent is a key of the step.
func (m *Model) pressAgent(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.agent.move(msg):
		return nil
	case msg.String() == "enter":
		return m.pickAgent()
	case msg.String() == "tab":
		return m.enter(task)
	case msg.String() == "shift+tab":
		return m.enter(where)
	}
	return m.typed(msg)
}

// pickAgent takes the agent that a person is at.
func (m *Model) pickAgent() tea.Cmd {
	it, ok := m.agent.at()
	if !ok {
		return nil
	}
	if a := m.agentOf(it.value); a != nil && a.Unservable != nil {
		m.note.Say("", a.Unservable)
		return nil
	}
	m.draft.Agent = it.value
	m.agent.input.SetValue("")
	m.listAgents()
	return tea.Batch(m.refill(), m.enter(task))
}

// talk switches between an agent that one talks to and one that works alone.
func (m *Model) talk() tea.Cmd {
	m.draft.Interactive = !m.draft.Interactive
	return m.refill()
}
