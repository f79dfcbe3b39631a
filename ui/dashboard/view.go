package dashboard

import (
	"fmt"
	"path/filepath"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	headRows = frame.HeadRows + 1 // and the names of the columns
	footRows = 1                  // what was said
	beside   = 120                // from this width on the preview stands beside the list
)

// wide reports whether the preview stands beside the list.
func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight is the rows between head and foot.
func (m *Model) bodyHeight() int { return max(1, m.height-headRows-footRows) }

// listHeight is the rows of the list.
func (m *Model) listHeight() int {
	if !m.preview || m.wide() {
		return m.bodyHeight()
	}
	return max(1, (m.bodyHeight()-1)/2)
}

func (m *Model) listWidth() int {
	if m.preview && m.wide() {
		return m.width*11/20 - 1
	}
	return m.width
}

// View is the screen.
func (m *Model) View() string {
	left, right := m.head()
	lines := frame.Head(m.theme, m.width, left, right)
	body := m.body()
	if m.preview && len(m.rows) > 0 {
		body = m.withPreview(body)
	}
	lines = append(append(lines, body...), m.note.View(m.theme, m.width))
	view := strings.Join(lines, "\n")
	if m.ask != nil {
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	}
	return view
}

// head is the title with the numbers, and the filter.
func (m *Model) head() (left, right string) {
	running, open := 0, 0
	for _, b := range m.all {
		switch urgency(b) {
		case 0:
			running++
		case 1:
			open++
		}
	}
	left = m.theme.Title.Render("aibox") + "  " + amount.Of(len(m.all), "session")
	if running > 0 {
		left += " · " + m.theme.Live.Render(fmt.Sprintf("%d running", running))
	}
	if open > 0 {
		left += " · " + m.theme.Warn.Render(fmt.Sprintf("%d to review", open))
	}
	switch {
	case m.filtering:
		right = m.filter.View()
	case m.filter.Value() != "":
		right = m.theme.Key.Render("/") + termtext.Escape(m.filter.Value())
	}
	return left, right
}

// body is the names of the columns and the list.
func (m *Model) body() []string {
	width, height := m.listWidth(), m.listHeight()
	out := make([]string, 0, height+1)
	switch {
	case !m.loaded:
		out = append(out, "", m.theme.Faint.Render("  looking for sessions…"))
	case len(m.all) == 0:
		out = append(out, "", "  There is no session yet. In a repository, `aibox run codex --prompt \"fix the",
			"  failing test\"` starts one; `aibox agents` lists the agents, and `aibox doctor`",
			"  says whether this machine is ready.")
	case len(m.rows) == 0:
		out = append(out, "", m.theme.Faint.Render("  no session has all of these words; esc clears the filter"))
	default:
		out = append(out, m.theme.Faint.Render(columns(width).line(head)))
		for i := m.top; i < min(len(m.rows), m.top+height); i++ {
			out = append(out, m.row(m.rows[i], width))
		}
	}
	return frame.Fill(out, height+1)
}

func (m *Model) withPreview(list []string) []string {
	if !m.wide() {
		rows := m.bodyHeight() - m.listHeight() - 1
		list = append(list, frame.Rule(m.theme, m.width))
		return append(list, m.previewView(m.width, max(0, rows))...)
	}
	width := m.listWidth()
	return frame.Panes(m.theme, list, m.previewView(m.width-width-frame.PaneGap, len(list)), width)
}

// look is a state as a person sees it.
type look struct {
	word string
	mark string // tells it without color
}

func status(b session.Brief) look {
	switch {
	case b.Phase == session.Preparing:
		return look{"starting", "◌"}
	case b.Phase != session.Ended:
		return look{string(b.Phase), "●"}
	case b.ContinuedBy != "":
		return look{"continued", "→"}
	case b.Review != session.Unreviewed:
		return look{string(b.Review), "✓"}
	case b.Failed:
		return look{"failed", "✗"}
	case b.Changed:
		return look{"to review", "▲"}
	default:
		return look{"no changes", "·"}
	}
}

func (m *Model) style(b session.Brief) lipgloss.Style {
	switch {
	case b.Phase != session.Ended:
		return m.theme.Live
	case b.ContinuedBy != "":
		return m.theme.Faint
	case b.Review == session.Accepted:
		return m.theme.Good
	case b.Failed && b.Review == session.Unreviewed:
		return m.theme.Bad
	case b.Changed && b.Review == session.Unreviewed:
		return m.theme.Warn
	default:
		return m.theme.Faint
	}
}

func (m *Model) state(b session.Brief) string {
	l := status(b)
	return m.style(b).Render(l.mark + " " + l.word)
}

// row is a line of the list.
func (m *Model) row(r row, width int) string {
	if r.heading != "" {
		return m.theme.Title.Render(ansi.Truncate(" "+termtext.Escape(r.heading), width, "…"))
	}
	b := r.brief
	l := status(b)
	line := columns(width).line(cells{
		state: l.mark + " " + l.word, id: string(b.ID), repo: repository(b), task: termtext.Escape(b.Task),
		changes: changes(b), tokens: counted(b.Tokens), refused: counted(b.Refused), time: m.took(b),
	})
	if b.ID == m.at {
		return m.theme.Selected.Render(line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line))))
	}
	// The state alone is colored: it begins the line.
	at := len(l.mark) + 1 + len(l.word) + 1
	return m.style(b).Render(line[:at]) + line[at:]
}

func repository(b session.Brief) string {
	name := termtext.Escape(filepath.Base(b.Repository))
	if b.Branch != "" {
		name += "@" + termtext.Escape(b.Branch)
	}
	return name
}

func changes(b session.Brief) string {
	if !b.Changed {
		return ""
	}
	return fmt.Sprintf("%d +%d -%d", b.Files, b.Added, b.Deleted)
}

// counted is a number that is empty for none.
func counted(n int) string {
	if n == 0 {
		return ""
	}
	return amount.Short(n)
}

// took is how long a session has run, or for one that has ended, how long ago that
// was.
func (m *Model) took(b session.Brief) string {
	if b.Phase != session.Ended {
		since := b.Started
		if since.IsZero() {
			since = b.Created
		}
		return amount.Age(m.now().Sub(since))
	}
	end := b.Ended
	if end.IsZero() {
		end = b.Created
	}
	return amount.Age(m.now().Sub(end)) + " ago"
}
