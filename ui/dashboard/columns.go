package dashboard

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// cells are the texts of one line, escaped.
type cells struct{ state, id, repo, task, changes, tokens, refused, time string }

// head is the names of the columns.
var head = cells{"  STATE", "SESSION", "REPOSITORY", "TASK", "CHANGES", "TOKENS", "REFUSED", "TIME"}

// layout is the width of each column; 0 leaves it out.
type layout struct{ state, id, repo, task, changes, tokens, refused, time int }

// columns divides a width. What matters least goes first; the task takes the rest.
func columns(width int) layout {
	l := layout{state: 12, id: 16, repo: 16, changes: 15, tokens: 6, refused: 7, time: 8}
	rest := func() int {
		used := 0
		for _, w := range []int{l.state, l.id, l.repo, l.changes, l.tokens, l.refused, l.time} {
			if w > 0 {
				used += w + 1
			}
		}
		return width - used
	}
	for _, narrow := range []func(){
		func() { l.refused = 0 }, func() { l.tokens = 0 }, func() { l.repo = 12 },
		func() { l.id = 12 }, func() { l.repo = 0 }, func() { l.changes = 0 },
	} {
		if rest() >= 16 {
			break
		}
		narrow()
	}
	l.task = max(0, rest())
	return l
}

// line is one line of the list.
func (l layout) line(c cells) string {
	var out strings.Builder
	for _, cell := range []struct {
		text  string
		width int
		right bool
	}{
		{c.state, l.state, false},
		{c.id, l.id, false},
		{c.repo, l.repo, false},
		{c.task, l.task, false},
		{c.changes, l.changes, true},
		{c.tokens, l.tokens, true},
		{c.refused, l.refused, true},
		{c.time, l.time, true},
	} {
		if cell.width == 0 {
			continue
		}
		text := ansi.Truncate(cell.text, cell.width, "…")
		pad := strings.Repeat(" ", max(0, cell.width-ansi.StringWidth(text)))
		if cell.right {
			text = pad + text
		} else {
			text += pad
		}
		out.WriteString(text + " ")
	}
	return strings.TrimSuffix(out.String(), " ")
}
