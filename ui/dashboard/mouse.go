package dashboard

import (
	"time"

	"aibox/session"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
)

// doubleTime is the maximum time between the clicks of a double click.
const doubleTime = 400 * time.Millisecond

// clicked is the last click on a session.
type clicked struct {
	id session.ID
	at time.Time
}

// wheel handles the mouse wheel.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.ask != nil {
		return nil
	}
	if m.noSessions() {
		m.welcome.Wheel(msg)
		return nil
	}
	m.list.move(func(c *cursor.Cursor) bool { c.Wheel(msg); return true })
	m.turned = time.Time{}
	return m.loadPreview()
}

// click sorts by the column name under the mouse, or selects the session there. A double
// click opens the session.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.ask == nil && m.noSessions() && msg.Button == tea.MouseLeft {
		return m.welcome.Click(m.ctx, msg.Y-frame.HeadRows)
	}
	if m.ask != nil || msg.Button != tea.MouseLeft || msg.X >= m.listWidth() || len(m.list.rows) == 0 {
		return nil
	}
	if msg.Y == frame.HeadRows {
		layout := m.list.layout(m.listWidth())
		if by, hit := layout.at(msg.X - leadWidth); hit {
			m.list.sortBy(by)
			m.arrange()
			return m.loadPreview()
		}
		return nil
	}
	i := m.list.top + msg.Y - headRows
	if msg.Y < headRows || msg.Y >= headRows+m.listHeight() || i >= len(m.list.rows) || m.list.rows[i].brief == nil {
		return nil
	}
	m.note.Say("", nil)
	b, before := m.list.rows[i].brief, m.clicked
	m.list.at, m.clicked, m.turned = b.ID, clicked{b.ID, m.now()}, time.Time{}
	if before.id == b.ID && m.now().Sub(before.at) < doubleTime && !m.filtering {
		m.clicked = clicked{}
		return m.open(b)
	}
	return m.loadPreview()
}
