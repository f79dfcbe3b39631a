package dashboard

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// tick updates the times on the screen.
type tick struct{}

// scheduleTick schedules a redraw for when the next of the times changes.
func (m *Model) scheduleTick() tea.Cmd {
	if !m.started || m.ticking || len(m.all) == 0 {
		return nil
	}
	m.ticking = true
	return m.after(m.nextChange(), tick{})
}

// nextChange returns when the next of the times on the screen changes.
func (m *Model) nextChange() time.Duration {
	now, next := m.now(), time.Hour
	for i := range m.all {
		age := now.Sub(since(&m.all[i]))
		unit := time.Hour
		switch {
		case age < time.Minute:
			unit = time.Second
		case age < time.Hour:
			unit = time.Minute
		}
		next = min(next, unit-max(0, age)%unit)
	}
	return next
}
