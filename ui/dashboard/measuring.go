package dashboard

import (
	"context"
	"time"

	"aibox/session"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

// Visible sessions are measured at most this often: each second one of them, and all of them
// every measurePause at least.
const (
	measurePause = 5 * time.Second
	measureMost  = 25 * time.Second
)

// measurer measures what the visible running sessions use. Without any it does nothing.
type measurer struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions service
	after    func(time.Duration, tea.Msg) tea.Cmd

	known   map[session.ID]session.Usage
	pending bool // a measurement runs or is scheduled
}

// measureDue reports that the time of the next measurement has come.
type measureDue struct{}

// measured carries a measurement of a number of sessions, and those that could be measured.
type measured struct {
	asked int
	known map[session.ID]session.Usage
}

// plan starts to measure when a session becomes visible; nil if that is not needed.
func (m *measurer) plan(visible []*summary.Summary) tea.Cmd {
	if m.pending || len(running(visible)) == 0 {
		return nil
	}
	m.pending = true
	return m.measure(running(visible))
}

// begin measures, or ends the measuring if no running session is visible.
func (m *measurer) begin(visible []*summary.Summary) tea.Cmd {
	ids := running(visible)
	if m.pending = len(ids) > 0; !m.pending {
		return nil
	}
	return m.measure(ids)
}

func (m *measurer) measure(ids []session.ID) tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg { return measured{len(ids), sessions.Measure(ctx, ids...)} }
}

// end stores a measurement and schedules the next one.
func (m *measurer) end(msg measured) tea.Cmd {
	m.known = msg.known
	pause := time.Duration(msg.asked) * time.Second
	return m.after(min(max(pause, measurePause), measureMost), measureDue{})
}

// apply adds the last measurement to sessions.
func (m *measurer) apply(all []summary.Summary) {
	for i := range all {
		if all[i].Phase == session.Running {
			all[i].Usage = m.known[all[i].ID]
		}
	}
}

// running returns the sessions that can be measured.
func running(visible []*summary.Summary) []session.ID {
	var ids []session.ID
	for _, b := range visible {
		if b.Phase == session.Running {
			ids = append(ids, b.ID)
		}
	}
	return ids
}
