package dashboard

import (
	"context"
	"strings"
	"time"

	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/page"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
)

// preview loads the selected session and follows its output.
type preview struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions service
	debounce time.Duration // how long to collect output before it is shown
	on       bool          // the pane is shown

	loading session.ID // the session being loaded; empty for none
	again   bool       // there was more output since then
	stale   bool       // its summary has changed since then
	answers page.Latest
	watch   *outputWatch // nil while the selected session does not run
	outputs page.Latest

	id      session.ID // of the session that was loaded
	session session.Session
	changes *review.ChangeSet
	output  []string // the last lines, filtered
	known   bool     // it could be loaded
}

// previewLoaded carries a session.
type previewLoaded struct {
	id      session.ID
	part    bool // only the output
	session session.Session
	changes *review.ChangeSet
	output  []string
	err     error
}

// tailBytes is how much of the output is read.
const tailBytes = 16 << 10

// load loads the selected session. b is nil if there is none.
func (p *preview) load(b *summary.Summary) tea.Cmd {
	p.watchAgain()
	if b == nil || !p.on {
		return p.watchOutput(b)
	}
	if p.loading == b.ID {
		p.stale = true
		return p.watchOutput(b)
	}
	p.loading, p.again, p.stale = b.ID, false, false
	sessions, of, read := p.sessions, *b, p.reader(b)
	return p.answers.Replace(func() tea.Msg {
		found, err := sessions.Find(string(of.ID))
		if err != nil {
			return previewLoaded{id: of.ID, err: err}
		}
		msg := read()
		msg.session = found
		if of.Phase == session.Ended && of.Changed {
			msg.changes, _ = sessions.FinalChanges(of.ID) // shown without the changes then
		}
		return msg
	})
}

// loadTail loads the latest output of the selected session.
func (p *preview) loadTail(b *summary.Summary) tea.Cmd {
	switch {
	case b == nil || !p.on || p.id != b.ID:
		return nil
	case p.loading == b.ID:
		p.again = true
		return nil
	}
	p.loading, p.again = b.ID, false
	read := p.reader(b)
	return p.answers.Replace(func() tea.Msg {
		msg := read()
		msg.part = true
		return msg
	})
}

// reader returns a function that reads the terminal's screen of a session, or the end of
// its output.
func (p *preview) reader(b *summary.Summary) func() previewLoaded {
	ctx, sessions, id, interactive := p.ctx, p.sessions, b.ID, b.Interactive
	return func() previewLoaded {
		if interactive {
			if text, err := sessions.Screen(ctx, id); err == nil {
				return previewLoaded{id: id, output: frame.Lines(string(screen.Recolor(text, screen.Colors16)))}
			}
		}
		text, err := sessions.Tail(id, tailBytes)
		if err != nil {
			return previewLoaded{id: id, err: err}
		}
		shown := termtext.Text(termtext.Unstyled(string(text)))
		return previewLoaded{id: id, output: frame.Lines(strings.ReplaceAll(shown, "\t", "    "))} // a cell shows no tab
	}
}

// take stores a session that was loaded. b is the selected one.
func (p *preview) take(msg previewLoaded, b *summary.Summary) tea.Cmd {
	p.loading = ""
	if msg.part {
		if p.id == msg.id && msg.err == nil {
			p.output = msg.output
		}
	} else {
		p.id, p.session, p.changes, p.output, p.known = msg.id, msg.session, msg.changes, msg.output, msg.err == nil
	}
	switch {
	case p.stale:
		return tea.Batch(p.watchOutput(b), p.load(b))
	case p.again:
		return p.loadTail(b)
	}
	return p.watchOutput(b)
}

// loadPreview loads the selected session.
func (m *Model) loadPreview() tea.Cmd { return m.preview.load(m.list.current()) }

// previewView returns the pane: exactly height lines of at most width columns.
func (m *Model) previewView(width, height int) []string {
	b := m.list.current()
	if b == nil {
		return frame.Fill(nil, height)
	}
	d := details{theme: m.theme, now: m.now(), brief: b, shown: &m.preview, uncounted: m.counter.known[b.ID].err}
	return d.view(width, height)
}
