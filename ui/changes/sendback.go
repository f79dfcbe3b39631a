package changes

import (
	"fmt"

	"aibox/review"
	"aibox/session"
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
		rejected, err := store()
		if err != nil {
			return delivered{err: err}
		}
		return rejectionsStored{rejected, page.SendBack{ID: id}}
	}
}

// rejectionsStored reports that the rejections are stored, and brings the request that follows.
type rejectionsStored struct {
	rejected []review.HunkID
	then     page.Request
}

// setStored notes the stored rejections, because the user can still cancel and withdraw them.
func (m *Model) setStored(msg rejectionsStored) tea.Cmd {
	m.draft.Stored(msg.rejected...)
	return page.Ask(msg.then)
}

// continued brings the id of the session that continues this one; empty for none.
type continued struct{ by session.ID }

// findContinuation finds out whether another session continues this one.
func (m *Model) findContinuation() tea.Cmd {
	services, id := m.services, m.session.ID
	return func() tea.Msg {
		found, err := services.Find(string(id))
		if err != nil {
			return continued{} // what the user does next reports it
		}
		return continued{found.State.ContinuedBy}
	}
}

// leaveContinued leaves the screen if another session continues this one: its work is reviewed
// there, and nothing can be accepted here.
func (m *Model) leaveContinued(msg continued) tea.Cmd {
	if msg.by == "" {
		return nil
	}
	return page.Leave(fmt.Sprintf("%s was continued by %s, which has its work", m.session.ID, msg.by), nil)
}
