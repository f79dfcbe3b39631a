package dashboard

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/ui/frame"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// preview is what is known of the session a person looks at.
type preview struct {
	id      session.ID
	asked   session.ID // whose answer is awaited; empty is nobody's
	session session.Session
	changes *review.ChangeSet
	output  []string // the last lines, made safe
	known   bool
}

// looked brings what there is to show.
type looked struct {
	id      session.ID
	session session.Session
	changes *review.ChangeSet
	output  []string
	err     error
}

// tailBytes is how much of a session's output is read for the preview.
const tailBytes = 16 << 10

// look asks for the session a person is at. A look that is not fresh is for one
// that runs, whose screen moves; one at a time is under way.
func (m *Model) look(fresh bool) tea.Cmd {
	b, some := m.current()
	if !some || !m.preview || m.shown.asked == b.ID || !fresh && b.Phase == session.Ended {
		return nil
	}
	m.shown.asked = b.ID
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg {
		msg := looked{id: b.ID}
		msg.session, msg.err = sessions.Find(string(b.ID))
		if msg.err != nil {
			return msg
		}
		if b.Phase == session.Ended && b.Changed {
			msg.changes, _ = sessions.FinalChanges(b.ID) // the list does without
		}
		if b.Interactive {
			if text, err := sessions.Screen(ctx, b.ID); err == nil {
				msg.output = lines(string(screen.Recolor(text, screen.Colors16)))
				return msg
			}
		}
		text, err := sessions.Tail(b.ID, tailBytes)
		if err != nil {
			msg.err = err
			return msg
		}
		msg.output = lines(termtext.Text(string(text)))
		return msg
	}
}

// lines are the lines of a text without empty ones at its end.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, " \n"), "\n")
}

func (p *preview) take(msg looked) {
	if p.asked != msg.id {
		return // of somebody who was left meanwhile
	}
	p.asked = ""
	p.id, p.session, p.changes, p.output, p.known = msg.id, msg.session, msg.changes, msg.output, msg.err == nil
}

// view is the pane, of exactly width by height cells.
func (m *Model) previewView(width, height int) []string {
	out := make([]string, 0, height)
	b, some := m.current()
	add := func(line string) {
		if len(out) < height {
			out = append(out, ansi.Truncate(line, width, "…"))
		}
	}
	if some {
		for _, line := range m.facts(b) {
			add(line)
		}
	}
	if some && m.shown.known && m.shown.id == b.ID {
		if set := m.shown.changes; set != nil && height-len(out) > 6 {
			add("")
			for i, c := range set.Changes {
				if i == min(8, (height-len(out))/2) {
					add(m.theme.Faint.Render(fmt.Sprintf("… %d more files", len(set.Changes)-i)))
					break
				}
				add(m.change(c))
			}
		}
		if room := height - len(out) - 1; room > 0 && len(m.shown.output) > 0 {
			add(frame.Rule(m.theme, width))
			last := m.shown.output[max(0, len(m.shown.output)-room):]
			for _, line := range last {
				add(line + "\x1b[m")
			}
		}
	}
	return frame.Fill(out, height)
}

// change is one changed file.
func (m *Model) change(c review.Change) string {
	counts := m.theme.Good.Render(fmt.Sprintf("+%d", c.Added)) + " " + m.theme.Bad.Render(fmt.Sprintf("-%d", c.Deleted))
	if c.Binary {
		counts = "binary"
	}
	return fmt.Sprintf("%-12s %s  %s", c.Kind, c.Path, counts)
}

// facts are the lines about a session.
func (m *Model) facts(b session.Brief) []string {
	t := m.theme
	out := []string{t.Title.Render(string(b.ID)) + "  " + m.state(b)}
	if b.Task != "" {
		out = append(out, termtext.Escape(b.Task))
	}
	place := termtext.Escape(b.Repository)
	if b.Branch != "" {
		place += " on " + termtext.Escape(b.Branch)
	}
	out = append(out, t.Faint.Render(place))
	if !m.shown.known || m.shown.id != b.ID {
		return out
	}
	s := m.shown.session
	out = append(out, t.Faint.Render(fmt.Sprintf("model %s · network %s · %s",
		termtext.Escape(orDash(s.Model)), s.Network, b.Created.Local().Format(time.DateTime))))
	if r := s.State.Result; r != nil {
		if r.Fault != nil {
			out = append(out, t.Bad.Render(termtext.Escape(r.Fault.Message)))
		}
		for i, refusal := range r.Refused {
			if i == 3 {
				out = append(out, t.Faint.Render(fmt.Sprintf("… %d more refusals", len(r.Refused)-i)))
				break
			}
			out = append(out, t.Warn.Render(fmt.Sprintf("refused %s %s: %s (%d×)", refusal.What,
				termtext.Escape(refusal.Target), termtext.Escape(refusal.Reason), refusal.Times)))
		}
	}
	return out
}

func orDash(text string) string {
	if text == "" {
		return "—"
	}
	return text
}
