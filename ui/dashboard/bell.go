package dashboard

import (
	"time"

	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// bellPause is the shortest time between two bells. What an agent's terminal shows decides
// whether it waits, so an agent could ring the bell without end.
const bellPause = 5 * time.Second

// bell rings the terminal's bell if a session of the new list has begun to wait for the
// user. The first list rings none.
func (m *Model) bell(all []session.Summary) tea.Cmd {
	now := m.now()
	if !m.loaded || now.Sub(m.rang) < bellPause {
		return nil
	}
	waited := map[session.ID]bool{}
	for i := range m.all {
		waited[m.all[i].ID] = urgency(&m.all[i]) == asks
	}
	for i := range all {
		if urgency(&all[i]) == asks && !waited[all[i].ID] {
			m.rang = now
			return tea.Raw("\a")
		}
	}
	return nil
}
