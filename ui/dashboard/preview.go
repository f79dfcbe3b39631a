package dashboard

import (
	"strings"

	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
)

// preview is what is known of the selected session.
type preview struct {
	id      session.ID
	asked   session.ID // whose answer is awaited; empty is nobody's
	again   bool       // it said more since that was asked
	session session.Session
	changes *review.ChangeSet
	output  []string // the last lines, made safe
	known   bool
}

// previewLoaded brings what there is to show.
type previewLoaded struct {
	id      session.ID
	part    bool // of a session that is known: only what it said
	session session.Session
	changes *review.ChangeSet
	output  []string
	err     error
}

// tailBytes is how much of a session's output is read for the preview.
const tailBytes = 16 << 10

// loadPreview asks for the selected session.
func (m *Model) loadPreview() tea.Cmd {
	b := m.list.current()
	if b == nil || !m.preview || m.shown.asked == b.ID {
		return m.watchOutput()
	}
	m.shown.asked, m.shown.again = b.ID, false
	sessions, of, said := m.sessions, *b, m.said(b)
	return m.previews.Replace(func() tea.Msg {
		found, err := sessions.Find(string(of.ID))
		if err != nil {
			return previewLoaded{id: of.ID, err: err}
		}
		msg := said()
		msg.session = found
		if of.Phase == session.Ended && of.Changed {
			msg.changes, _ = sessions.FinalChanges(of.ID) // the list does without
		}
		return msg
	})
}

// loadTail asks for the latest output of the selected session.
func (m *Model) loadTail() tea.Cmd {
	b := m.list.current()
	switch {
	case b == nil || !m.preview || m.shown.id != b.ID:
		return nil
	case m.shown.asked == b.ID:
		m.shown.again = true
		return nil
	}
	m.shown.asked, m.shown.again = b.ID, false
	said := m.said(b)
	return m.previews.Replace(func() tea.Msg {
		msg := said()
		msg.part = true
		return msg
	})
}

// said returns how to get what a session shows on its terminal, or said last.
func (m *Model) said(b *session.Summary) func() previewLoaded {
	ctx, sessions, id, interactive := m.ctx, m.sessions, b.ID, b.Interactive
	return func() previewLoaded {
		if interactive {
			if text, err := sessions.Screen(ctx, id); err == nil {
				return previewLoaded{id: id, output: lines(string(screen.Recolor(text, screen.Colors16)))}
			}
		}
		text, err := sessions.Tail(id, tailBytes)
		if err != nil {
			return previewLoaded{id: id, err: err}
		}
		return previewLoaded{id: id, output: lines(termtext.Text(string(text)))}
	}
}

// lines returns the lines of a text without empty ones at its end.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, " \n"), "\n")
}

// takePreview takes the preview that was asked for last.
func (m *Model) takePreview(msg previewLoaded) tea.Cmd {
	p := &m.shown
	p.asked = ""
	if msg.part {
		if p.id == msg.id && msg.err == nil {
			p.output = msg.output
		}
	} else {
		p.id, p.session, p.changes, p.output, p.known = msg.id, msg.session, msg.changes, msg.output, msg.err == nil
	}
	if p.again {
		return m.loadTail()
	}
	return m.watchOutput()
}

// previewView returns the pane: exactly height lines of at most width columns.
func (m *Model) previewView(width, height int) []string {
	b := m.list.current()
	if b == nil {
		return frame.Fill(nil, height)
	}
	d := details{theme: m.theme, now: m.now(), brief: b, shown: &m.shown, uncounted: m.counting.known[b.ID].err}
	return d.view(width, height)
}
