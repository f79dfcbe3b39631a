package dashboard

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// noSessions reports whether there is no session at all, so that the way to a first run
// stands in the place of the list.
func (m *Model) noSessions() bool { return m.loaded && len(m.all) == 0 }

// empty returns what stands in the place of the list while there is no session.
func (m *Model) empty() []string { return m.welcome.View(m.theme, m.width) }

// checkMachine checks the machine for a user without a session. Once there is one, nothing
// is checked.
func (m *Model) checkMachine() tea.Cmd {
	if !m.noSessions() {
		return nil
	}
	return m.welcome.Begin(m.ctx)
}

// recheckMachine returns greet for a user who comes back, and may have fixed something.
func (m *Model) recheckMachine() tea.Cmd {
	if !m.noSessions() {
		return nil
	}
	return m.welcome.Again(m.ctx)
}

// firstKeys returns the keys for the foot while there is no session.
func (m *Model) firstKeys() []key.Binding {
	return append(m.welcome.Keys(), m.keys.newRun)
}
