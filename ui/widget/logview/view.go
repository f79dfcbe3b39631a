package logview

import (
	"aibox/ui/widget/tail"

	"github.com/charmbracelet/x/ansi"
)

// View returns at most as many rows as fit, each cut to the width.
func (m *Model) View() []string {
	width, height := m.window.width, m.window.height
	rows := m.window.view()
	if len(rows) == 0 && m.failed != nil {
		return []string{tail.Failed(m.theme, width, m.failed)}
	}
	if len(rows) == 0 {
		return []string{m.theme.Faint.Render(tail.Empty(m.chunks != nil, m.over))}
	}
	out := make([]string, 0, len(rows))
	for _, row := range rows {
		text := tail.Highlight(m.theme, row.text, m.words)
		if row.line.notice {
			text = m.theme.Warn.Render("! " + ansi.Truncate(ansi.Strip(row.text), max(1, width-2), "…"))
		}
		out = append(out, text)
	}
	if !m.window.follow {
		out = tail.WithPosition(out, width, height, tail.Position(m.theme, m.over, m.place()))
	}
	return out
}
