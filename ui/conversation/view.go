package conversation

import (
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// View returns at most as many rows as fit, each cut to the width.
func (m *Model) View() []string {
	w := &m.window
	if len(m.list.items) == 0 || w.top == nil {
		return []string{m.theme.Faint.Render(m.emptyText())}
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
			out = append(out, ansi.Truncate(mark+m.highlight(row), w.width, "…"))
		}
	}
	out = out[:min(len(out), w.height)]
	if below := m.below(); below != "" {
		out = frame.Fill(out, w.height)
		out[w.height-1] = frame.Pad(out[w.height-1], max(0, w.width-ansi.StringWidth(below)-1)) + " " + below
	}
	return out
}

// emptyText returns the text for a conversation without items.
func (m *Model) emptyText() string {
	switch {
	case m.stream == nil:
		return ""
	case m.over:
		return "no output"
	default:
		return "no output yet"
	}
}

// below returns the text at the end of the last row while the end is not followed: the
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
	if m.hit != "" {
		return t.Title.Render(m.hit) + t.Faint.Render(" · ") + end
	}
	return end
}

// highlight marks the words of the search. A row with them loses its other styles.
func (m *Model) highlight(row string) string {
	if m.words == "" {
		return row
	}
	plain := ansi.Strip(row)
	folded := strings.ToLower(plain)
	if len(folded) != len(plain) || !strings.Contains(folded, m.words) {
		return row
	}
	var out strings.Builder
	for {
		i := strings.Index(strings.ToLower(plain), m.words)
		if i < 0 {
			return out.String() + plain
		}
		out.WriteString(plain[:i] + m.theme.Selected.Render(plain[i:i+len(m.words)]))
		plain = plain[i+len(m.words):]
	}
}
