package conversation

import (
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/tail"

	"github.com/charmbracelet/x/ansi"
)

// Position says which items are on the screen if others are hidden.
func (m *Model) Position() string {
	if m.window.top == nil {
		return ""
	}
	first, last := m.window.shown()
	return cursor.Range(first, last+1, len(m.list.items))
}

// View returns at most as many rows as fit, each cut to the width.
func (m *Model) View() []string {
	w := &m.window
	if len(m.list.items) == 0 || w.top == nil {
		if m.failed != nil {
			return []string{tail.Failed(m.theme, w.width, m.failed)}
		}
		return []string{m.theme.Faint.Render(tail.Empty(m.stream != nil, m.over))}
	}
	var out []string
	for i, skip := w.index(w.top), w.row; i < len(m.list.items) && len(out) < w.height; i, skip = i+1, 0 {
		it := m.list.items[i]
		for n, row := range w.rowsOf(it)[min(skip, len(w.rowsOf(it))):] {
			mark := "  "
			if it == w.selected {
				mark = "  "
				if n+skip == 0 {
					mark = m.theme.Key.Render(cursor.Mark) + " "
				}
			}
			out = append(out, ansi.Truncate(mark+tail.Highlight(m.theme, row, m.words), w.width, "…"))
		}
	}
	out = out[:min(len(out), w.height)]
	if !m.window.follow {
		out = tail.WithPosition(out, w.width, w.height, tail.Position(m.theme, m.over, m.hit))
	}
	return out
}
