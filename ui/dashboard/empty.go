package dashboard

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// noSessions reports whether the user has no session, so that the steps to a first run are
// shown in place of the list.
func (m *Model) noSessions() bool { return m.loaded && len(m.all) == 0 }

// checkMachine checks the machine for a user without sessions.
func (m *Model) checkMachine() tea.Cmd {
	if !m.noSessions() {
		return nil
	}
	return m.welcome.Begin(m.ctx)
}

// recheckMachine checks it again for a user who comes back and may have fixed something.
func (m *Model) recheckMachine() tea.Cmd {
	if !m.noSessions() {
		return nil
	}
	return m.welcome.Again(m.ctx)
}

// firstKeys returns the keys for the foot while there is no session.
func (m *Model) firstKeys() []key.Binding {
	if m.welcome.Typing() {
		return m.welcome.Keys()
	}
	return append(m.welcome.Keys(), m.keys.newRun)
}
