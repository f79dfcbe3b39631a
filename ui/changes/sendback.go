package changes

import (
	"aibox/session/summary"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// canSendBack reports whether the session can be resumed with feedback.
func (m *Model) canSendBack() bool {
	if m.set == nil {
		return false
	}
	b := summary.Of(&m.session)
	return b.Actions().SendBack
}

// sendBack stores the rejections as feedback. It then asks for more feedback, with which the
// session is resumed. The draft is kept, because the user can still cancel.
func (m *Model) sendBack() tea.Cmd {
	store, id := m.delivery.rejections(), m.session.ID
	return func() tea.Msg {
		if _, err := store(); err != nil {
			return delivered{err: err}
		}
		return page.SendBack{ID: id}
	}
}
