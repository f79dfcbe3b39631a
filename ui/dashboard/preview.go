package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// preview is what is known of the session a person looks at.
type preview struct {
	id      session.ID
	asked   session.ID // whose answer is awaited; empty is nobody's
	again   bool       // it said more since that was asked
	session session.Session
	changes *review.ChangeSet
	output  []string // the last lines, made safe
	known   bool
}

// looked brings what there is to show.
type looked struct {
	id      session.ID
	part    bool // of a session that is known: only what it said
	session session.Session
	changes *review.ChangeSet
	output  []string
	err     error
}

// tailBytes is how much of a session's output is read for the preview.
const tailBytes = 16 << 10

// look asks for the session a person is at.
func (m *Model) look() tea.Cmd {
	b := m.current()
	if b == nil || !m.preview || m.shown.asked == b.ID {
		return m.listen()
	}
	m.shown.asked, m.shown.again = b.ID, false
	sessions, of, said := m.sessions, *b, m.said(b)
	return m.previews.Replace(func() tea.Msg {
		found, err := sessions.Find(string(of.ID))
		if err != nil {
			return looked{id: of.ID, err: err}
		}
		msg := said()
		msg.session = found
		if of.Phase == session.Ended && of.Changed {
			msg.changes, _ = sessions.FinalChanges(of.ID) // the list does without
		}
		return msg
	})
}

// glance asks for what the session that is looked at said last.
func (m *Model) glance() tea.Cmd {
	b := m.current()
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

// said is how to get what a session shows on its terminal, or said last.
func (m *Model) said(b *session.Summary) func() looked {
	ctx, sessions, id, interactive := m.ctx, m.sessions, b.ID, b.Interactive
	return func() looked {
		if interactive {
			if text, err := sessions.Screen(ctx, id); err == nil {
				return looked{id: id, output: lines(string(screen.Recolor(text, screen.Colors16)))}
			}
		}
		text, err := sessions.Tail(id, tailBytes)
		if err != nil {
			return looked{id: id, err: err}
		}
		return looked{id: id, output: lines(termtext.Text(string(text)))}
	}
}

// lines are the lines of a text without empty ones at its end.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, " \n"), "\n")
}

// see takes the preview that was asked for last.
func (m *Model) see(msg looked) tea.Cmd {
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
		return m.glance()
	}
	return m.listen()
}

// previewView is the pane, of exactly height lines of at most width columns.
func (m *Model) previewView(width, height int) []string {
	b := m.current()
	if b == nil {
		return frame.Fill(nil, height)
	}
	out := m.facts(b)
	if m.knows(b) {
		if room := height - len(out); room > 6 && m.shown.changes != nil {
			out = append(append(out, ""), m.files(m.shown.changes.Changes, min(8, room/2))...)
		}
		if room := height - len(out) - 1; room > 0 && len(m.shown.output) > 0 {
			out = append(out, frame.Rule(m.theme, width))
			for _, line := range m.shown.output[max(0, len(m.shown.output)-room):] {
				out = append(out, line+"\x1b[m")
			}
		}
	}
	for i, line := range out {
		out[i] = ansi.Truncate(line, width, "…")
	}
	return frame.Fill(out, height)
}

// files is a line for each of the first changes, and one for the rest.
func (m *Model) files(changes []review.Change, most int) []string {
	shown := changes[:min(len(changes), most)]
	out := make([]string, 0, len(shown)+1)
	for _, c := range shown {
		counts := m.theme.Good.Render(fmt.Sprintf("+%d", c.Added)) + " " + m.theme.Bad.Render(fmt.Sprintf("-%d", c.Deleted))
		if c.Binary {
			counts = "binary"
		}
		out = append(out, fmt.Sprintf("%-12s %s  %s", c.Kind, c.Path, counts))
	}
	if more := len(changes) - len(shown); more > 0 {
		out = append(out, m.theme.Faint.Render("… "+amount.Of(more, "more file")))
	}
	return out
}

// facts are the lines about a session.
func (m *Model) facts(b *session.Summary) []string {
	t := m.theme
	out := []string{t.Title.Render(string(b.ID)) + "  " + m.state(b)}
	if b.Task != "" {
		out = append(out, termtext.Escape(b.Task))
	}
	place := termtext.Escape(paths.Short(b.Repository))
	if b.Branch != "" {
		place += " on " + termtext.Escape(b.Branch)
	}
	out = append(out, t.Faint.Render(place))
	if numbers := m.numbers(b); numbers != "" {
		out = append(out, numbers)
	}
	if why := m.counting.known[b.ID].err; why != nil {
		out = append(out, t.Warn.Render("changes not counted: "+termtext.Escape(why.Error())))
	}
	if m.knows(b) {
		out = append(out, m.record(&m.shown.session)...)
	}
	return out
}

// knows reports whether what was looked at is this session.
func (m *Model) knows(b *session.Summary) bool { return m.shown.known && m.shown.id == b.ID }

// record are the lines about how a session was started and how it ended.
func (m *Model) record(s *session.Session) []string {
	t := m.theme
	words := []string{"network " + s.Network, s.Created.Local().Format(time.DateTime)}
	if model := modelOf(&s.Spec); model != "" {
		words = slices.Insert(words, 0, termtext.Escape(model))
	}
	out := []string{t.Faint.Render(strings.Join(words, " · "))}
	if r := s.State.Result; r != nil {
		if r.Fault != nil {
			out = append(out, t.Bad.Render(termtext.Escape(r.Fault.Message)))
		}
		for i, refusal := range r.Refused {
			if i == 3 {
				out = append(out, t.Faint.Render("… "+amount.Of(len(r.Refused)-i, "more refusal")))
				break
			}
			out = append(out, t.Warn.Render(fmt.Sprintf("refused %s %s: %s (%d×)", refusal.What,
				termtext.Escape(refusal.Target), termtext.Escape(refusal.Reason), refusal.Times)))
		}
	}
	return out
}

// numbers is what a session has come to, in a line; empty for nothing yet.
func (m *Model) numbers(b *session.Summary) string {
	var words []string
	if b.Uncounted {
		words = append(words, "tokens unknown")
	} else if b.Tokens > 0 {
		words = append(words, amount.Short(b.Tokens)+" tokens")
	}
	if b.Refused > 0 {
		words = append(words, m.theme.Warn.Render(amount.Short(b.Refused)+" refused"))
	}
	if b.Changed {
		text := fmt.Sprintf("%s +%d -%d", amount.Of(b.Files, "file"), b.Added, b.Deleted)
		if soFar(b) {
			text += " so far"
		}
		words = append(words, text)
	}
	if b.Unknown && b.Phase == session.Ended {
		words = append(words, m.theme.Warn.Render("changes unknown"))
	}
	if b.Phase != session.Ended {
		if !b.Deadline.IsZero() {
			words = append(words, amount.Age(b.Deadline.Sub(m.now()))+" left")
		}
		if b.Waiting > 0 {
			words = append(words, m.theme.Warn.Render(amount.Of(b.Waiting, "question")+" for you"))
		}
	}
	return strings.Join(words, m.theme.Faint.Render(" · "))
}

// modelOf says which model a session was started with; empty for one without a model.
func modelOf(s *session.Spec) string {
	kind, _, _ := strings.Cut(s.Inference, ":")
	switch {
	case !s.HasModel():
		return ""
	case kind == "scripted":
		return "scripted model"
	case s.Model != "":
		return "model " + s.Model
	case kind == "" || kind == "auto":
		return "model chosen by itself"
	default:
		return "model chosen at " + s.Inference
	}
}
