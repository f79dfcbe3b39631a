package logview

import (
	"strings"

	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// View is at most as many rows as there is room for, none wider than that.
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

// emptyText is what is said where there is no line.
func (m *Model) emptyText() string {
	switch {
	case m.chunks == nil:
		return ""
	case m.over:
		return "it said nothing"
	default:
		return "it has said nothing so far"
	}
}

// below is what stands at the end of the last row while the end is not shown: which hit
// this is, and the way to the end.
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

// mark shows the words that are looked for.
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
