package logview

import (
	"strings"

	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// View returns at most as many rows as fit, each cut to the width.
func (m *Model) View() []string {
	width, height := m.window.width, m.window.height
	rows := m.window.view()
	if len(rows) == 0 {
		return []string{m.theme.Faint.Render(m.emptyText())}
	}
	out := make([]string, 0, len(rows))
	for _, row := range rows {
		text := m.mark(row.text)
		if row.line.notice {
			text = m.theme.Warn.Render("! " + ansi.Truncate(ansi.Strip(row.text), max(1, width-2), "…"))
		}
		out = append(out, text)
	}
	if below := m.below(); below != "" {
		out = frame.Fill(out, height)
		out[height-1] = frame.Pad(out[height-1], max(0, width-ansi.StringWidth(below)-1)) + " " + below
	}
	return out
}

// emptyText returns the text for an empty log.
func (m *Model) emptyText() string {
	switch {
	case m.chunks == nil:
		return ""
	case m.over:
		return "no output"
	default:
		return "no output yet"
	}
}

// below returns the text at the end of the last row while the log is not followed: the
// number of the hit, and the key that goes to the end.
func (m *Model) below() string {
	if m.window.follow {
		return ""
	}
	t := m.theme
	end := t.Key.Render("end") + t.Faint.Render(" follows")
	if m.over {
		end = t.Key.Render("end") + t.Faint.Render(" to the bottom")
	}
	if place := m.place(); place != "" {
		return t.Title.Render(place) + t.Faint.Render(" · ") + end
	}
	return end
}

// mark highlights the words of the search.
func (m *Model) mark(row string) string {
	if m.words == "" {
		return row
	}
	plain, words := ansi.Strip(row), fold(m.words)
	if len(fold(plain)) != len(plain) || !strings.Contains(fold(plain), words) {
		return row
	}
	var out strings.Builder
	for {
		i := strings.Index(fold(plain), words)
		if i < 0 {
			return out.String() + plain
		}
		out.WriteString(plain[:i] + m.theme.Selected.Render(plain[i:i+len(words)]))
		plain = plain[i+len(words):]
	}
}
