package dashboard

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/termtext"
	"aibox/session/summary"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/status"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// names returns the line of column names, with an arrow at the one that sorts.
func (l *list) names(t theme.Theme, layout *layout) string {
	arrow := "↓"
	if l.reversed {
		arrow = "↑"
	}
	return strings.Repeat(" ", leadWidth) + t.Faint.Render(layout.line(func(c column) string {
		if c == l.order {
			return kinds[c].name + arrow
		}
		return kinds[c].name
	}))
}

// position says which of the sessions are shown in some rows if others are hidden.
func (l *list) position(height int) string {
	var before, shown, all int
	for i := range l.rows {
		switch {
		case l.rows[i].brief == nil:
			continue
		case i < l.top:
			before++
		case i < l.top+height:
			shown++
		}
		all++
	}
	return cursor.Range(before, before+shown, all)
}

// row returns a line of the list. Its first two cells show the selection and the mark
// without color.
func (l *list) row(t theme.Theme, now time.Time, r *row, layout *layout, width int) string {
	if r.brief == nil {
		title := fmt.Sprintf("%s (%d)", termtext.Escape(r.heading), r.count)
		return t.Title.Render(ansi.Truncate(" "+title, width, "…"))
	}
	b := r.brief
	lead := cursor.Here(b.ID == l.at)
	if l.marked[b.ID] {
		lead += t.Key.Render("*")
	} else {
		lead += " "
	}
	line := layout.line(func(c column) string { return kinds[c].text(now, b) })
	if b.ID == l.at {
		return t.Selected.Render(frame.Pad(ansi.Strip(lead)+line, width))
	}
	// Only the state is colored. It is at the start of the line.
	if state := status.Text(b.Status()); strings.HasPrefix(line, state) {
		line = status.Style(&t, b.Status()).Render(state) + line[len(state):]
	}
	return lead + line
}

// stateView returns the status of a session in its style.
func stateView(t *theme.Theme, b *summary.Summary) string {
	current := b.Status()
	return status.Style(t, current).Render(status.Text(current))
}
