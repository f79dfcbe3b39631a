package dashboard

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session/summary"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	headRows = frame.HeadRows + 1 // and the names of the columns
	footRows = 1                  // the note
	beside   = 120                // from this width on the preview is beside the list
)

// wide reports whether the preview is beside the list.
func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between the head and the foot.
func (m *Model) bodyHeight() int { return max(1, m.height-headRows-footRows) }

// listHeight returns the rows of the list.
func (m *Model) listHeight() int {
	if !m.preview.on || m.wide() || len(m.list.rows) == 0 {
		return m.bodyHeight()
	}
	return max(1, (m.bodyHeight()-1)/2)
}

func (m *Model) listWidth() int {
	if m.preview.on && m.wide() {
		return m.width*11/20 - 1
	}
	return m.width
}

// View returns the screen.
func (m *Model) View() string {
	left, right := m.head()
	lines := frame.Head(m.theme, m.width, left, right)
	lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: m.list.position(m.listHeight()), End: m.listWidth()})
	body := m.body()
	if m.preview.on && len(m.list.rows) > 0 {
		body = m.withPreview(body)
	}
	lines = append(append(lines, body...), m.foot())
	return m.ask.Over(strings.Join(lines, "\n"), m.theme, m.width, m.height)
}

// foot returns the note, or the error of the list.
func (m *Model) foot() string {
	note := m.note
	if note.Text() == "" && m.listErr != nil {
		note.Say("", m.listErr)
	}
	if note.Text() == "" && m.problem != "" && len(m.list.rows) > 0 {
		return m.theme.Warn.Render(ansi.Truncate(m.problem, m.width, "…"))
	}
	return note.View(m.theme, m.width)
}

// head returns the title with the numbers of sessions that the filter finds, and the filter.
func (m *Model) head() (left, right string) {
	var counts [rest + 1]int
	found := 0
	for _, r := range m.list.rows {
		if r.brief != nil {
			found++
			counts[urgency(r.brief)]++
		}
	}
	t := m.theme
	number := amount.Of(len(m.all), "session")
	if found < len(m.all) {
		number = fmt.Sprintf("%d of %s", found, number)
	}
	words := []string{t.Title.Render("aibox") + "  " + number}
	for _, part := range []struct {
		n     int
		what  string
		style lipgloss.Style
	}{
		{counts[asks], "waiting for you", t.Warn}, {counts[active], "running", t.Live}, {counts[queued], "queued", t.Faint}, {counts[toReview], "to review", t.Warn}, {len(m.list.marked), "marked", t.Key},
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

// body returns the column names and the list.
func (m *Model) body() []string {
	width, height := m.listWidth(), m.listHeight()
	out := make([]string, 0, height+1)
	switch {
	case !m.loaded:
		out = append(out, "", m.theme.Faint.Render("  loading sessions…"))
	case len(m.all) == 0:
		out = append(out, m.welcome.View(m.theme, m.width, height+1)...)
	case len(m.list.rows) == 0 && m.problem != "":
		out = append(out, "")
		for _, line := range frame.Wrap(m.problem+"; esc clears the filter", width-2) {
			out = append(out, m.theme.Warn.Render(ansi.Truncate("  "+line, width, "…")))
		}
	case len(m.list.rows) == 0:
		out = append(out, "", m.theme.Faint.Render(ansi.Truncate("  no session matches the filter; esc clears it", width, "…")))
	default:
		layout := m.list.layout(width)
		out = append(out, m.list.names(m.theme, &layout))
		for i := m.list.top; i < min(len(m.list.rows), m.list.top+height); i++ {
			out = append(out, m.list.row(m.theme, m.now(), &m.list.rows[i], &layout, width))
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

// visible returns the sessions whose changes are on the screen.
func (m *Model) visible() []*summary.Summary {
	if m.covered {
		return nil
	}
	var visible []*summary.Summary
	if layout := m.list.layout(m.listWidth()); layout[byChanges] > 0 {
		for _, r := range m.list.rows[m.list.top:min(len(m.list.rows), m.list.top+m.listHeight())] {
			if r.brief != nil {
				visible = append(visible, r.brief)
			}
		}
	}
	if b := m.list.current(); b != nil && m.preview.on {
		visible = append(visible, b)
	}
	return visible
}
