package dashboard

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/status"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	headRows = frame.HeadRows + 1 // and the names of the columns
	footRows = 1                  // what was said
	beside   = 120                // from this width on the preview is beside the list
)

// wide reports whether the preview is beside the list.
func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between head and foot.
func (m *Model) bodyHeight() int { return max(1, m.height-headRows-footRows) }

// listHeight returns the rows of the list.
func (m *Model) listHeight() int {
	if !m.preview || m.wide() || len(m.list.rows) == 0 {
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

// View returns the screen.
func (m *Model) View() string {
	left, right := m.head()
	lines := frame.Head(m.theme, m.width, left, right)
	body := m.body()
	if m.preview && len(m.list.rows) > 0 {
		body = m.withPreview(body)
	}
	lines = append(append(lines, body...), m.foot())
	view := strings.Join(lines, "\n")
	if m.ask != nil {
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	}
	return view
}

// foot returns the last note; when nothing was, what is wrong with the list.
func (m *Model) foot() string {
	note := m.note
	if note.Text() == "" && m.listErr != nil {
		note.Say("", m.listErr)
	}
	return note.View(m.theme, m.width)
}

// head returns the title with the numbers, and the filter.
func (m *Model) head() (left, right string) {
	var counts [rest + 1]int
	for i := range m.all {
		counts[urgency(&m.all[i])]++
	}
	t := m.theme
	words := []string{t.Title.Render("aibox") + "  " + amount.Of(len(m.all), "session")}
	for _, part := range []struct {
		n     int
		what  string
		style lipgloss.Style
	}{
		{counts[asks], "waiting for you", t.Warn}, {counts[active], "running", t.Live}, {counts[toReview], "to review", t.Warn}, {len(m.list.marked), "marked", t.Key},
	} {
		if part.n > 0 {
			words = append(words, part.style.Render(fmt.Sprintf("%d %s", part.n, part.what)))
		}
	}
	switch {
	case m.filtering:
		right = m.filter.View()
	case m.filter.Value() != "":
		right = t.Key.Render("/") + termtext.Escape(m.filter.Value())
	}
	return strings.Join(words, " · "), right
}

// body returns the names of the columns and the list.
func (m *Model) body() []string {
	width, height := m.listWidth(), m.listHeight()
	out := make([]string, 0, height+1)
	switch {
	case !m.loaded:
		out = append(out, "", m.theme.Faint.Render("  looking for sessions…"))
	case len(m.all) == 0:
		out = append(out, m.empty()...)
	case len(m.list.rows) == 0:
		out = append(out, "", m.theme.Faint.Render(ansi.Truncate("  esc clears the filter: no session has all of its words", width, "…")))
	default:
		layout := layoutOf(width)
		out = append(out, m.names(&layout))
		for i := m.list.top; i < min(len(m.list.rows), m.list.top+height); i++ {
			out = append(out, m.row(&m.list.rows[i], &layout, width))
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

// names returns the line of the columns' names, with an arrow at the one that sorts.
func (m *Model) names(layout *layout) string {
	arrow := "↓"
	if m.list.reversed {
		arrow = "↑"
	}
	return strings.Repeat(" ", leadWidth) + m.theme.Faint.Render(layout.line(func(c column) string {
		if c == m.list.order {
			return kinds[c].name + arrow
		}
		return kinds[c].name
	}))
}

func stateView(t *theme.Theme, b *session.Summary) string {
	current := b.Status()
	return status.Style(t, current).Render(status.Text(current))
}

// row returns a line of the list. The first two columns mark what is
// selected and what is marked, also without colors.
func (m *Model) row(r *row, layout *layout, width int) string {
	if r.brief == nil {
		title := fmt.Sprintf("%s (%d)", termtext.Escape(r.heading), r.count)
		return m.theme.Title.Render(ansi.Truncate(" "+title, width, "…"))
	}
	b := r.brief
	lead := cursor.Here(b.ID == m.list.at)
	if m.list.marked[b.ID] {
		lead += m.theme.Key.Render("*")
	} else {
		lead += " "
	}
	line := layout.line(func(c column) string { return kinds[c].text(m, b) })
	if b.ID == m.list.at {
		return m.theme.Selected.Render(frame.Pad(ansi.Strip(lead)+line, width))
	}
	// The state alone is colored: it begins the line.
	if state := status.Text(b.Status()); strings.HasPrefix(line, state) {
		line = status.Style(&m.theme, b.Status()).Render(state) + line[len(state):]
	}
	return lead + line
}
