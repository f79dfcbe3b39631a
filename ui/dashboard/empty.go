package dashboard

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// bare reports whether there is no session at all, so that the way to a first run
// stands in the place of the list.
func (m *Model) bare() bool { return m.loaded && len(m.all) == 0 }

// empty is what stands in the place of the list while there is no session.
func (m *Model) empty() []string { return m.welcome.View(m.theme, m.width) }

// greet looks at the machine for whoever has no session yet. Once there is one, nothing
// is looked at.
func (m *Model) greet() tea.Cmd {
	if !m.bare() {
		return nil
	}
	return m.welcome.Begin(m.ctx)
}

// greetAgain is greet for somebody who comes back, and may have mended something.
func (m *Model) greetAgain() tea.Cmd {
	if !m.bare() {
		return nil
	}
	return m.welcome.Again(m.ctx)
}

// firstKeys are the keys for the foot while there is no session.
func (m *Model) firstKeys() []key.Binding {
	return append(m.welcome.Keys(), m.keys.newRun)
}
