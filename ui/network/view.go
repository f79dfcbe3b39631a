package network

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session/auditlog"
	"aibox/ui/traffic"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// The rows around the list: above it the head and the column names; below it a rule,
// the selected access in full and the note.
const (
	headRows = frame.HeadRows + 1
	fullRows = 2
	footRows = 1 + fullRows + 1
)

// listHeight returns the rows of the list.
func (m *Model) listHeight() int { return max(1, m.height-headRows-footRows) }

// columns are the widths of the columns. The last one, the result, gets the rest.
type columns struct{ time, session, what, target int }

func (m *Model) columns() columns {
	c := columns{time: len("TIME"), session: 12, what: 8}
	for _, a := range m.shown() {
		c.time = max(c.time, len(m.when(a.Time)))
		c.session = max(c.session, min(20, len(a.Session)))
	}
	if m.width < 60 {
		c.session = 0
	}
	if m.only != "" {
		c.session = 0
	}
	rest := m.width - c.time - c.session - c.what - 6
	c.target = max(10, rest*2/5)
	return c
}

// when returns the time of day, or the date and the time if that was not today.
func (m *Model) when(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == m.clock().Local().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// shown returns the accesses on the screen.
func (m *Model) shown() []auditlog.Access {
	from, to := m.cursor.Window()
	return m.rows[min(from, len(m.rows)):min(to, len(m.rows))]
}

// View returns the screen.
func (m *Model) View() string {
	m.arrange()
	c := m.columns()
	out := frame.Head(m.theme, m.width, m.title(), m.numbers())
	out[1] = frame.TitledRule(m.theme, m.width, m.cursor.Position())
	names := m.line(c, false, "TIME", "SESSION", "WHAT", "TARGET", "RESULT")
	out = append(out, m.theme.Faint.Render(names))
	list := make([]string, 0, m.listHeight())
	from, _ := m.cursor.Window()
	for i, a := range m.shown() {
		list = append(list, m.row(c, a, from+i == m.cursor.At()))
	}
	if len(list) == 0 {
		list = append(list, "", m.theme.Faint.Render("  "+m.empty()))
	}
	out = append(out, frame.Fill(list, m.listHeight())...)
	out = append(append(out, frame.Rule(m.theme, m.width)), m.full()...)
	foot := m.note.View(m.theme, m.width)
	if m.filter.Typing() {
		foot = m.filter.View()
	}
	out = append(out, foot)
	return m.ask.Over(strings.Join(frame.Fill(frame.Cut(out, m.width), m.height), "\n"), m.theme, m.width, m.height)
}

// title returns the name of the screen and the state of the locks.
func (m *Model) title() string {
	title := m.theme.Title.Render("Network activity") + "  "
	switch {
	case !m.locksKnown || m.checking:
		return title + m.theme.Faint.Render("checking the locks…")
	case m.locksErr != nil:
		return title + m.theme.Warn.Render("? locks unknown: "+termtext.Escape(m.locksErr.Error()))
	case m.locks.Up:
		return title + m.theme.Good.Render("✓ "+amount.Of(m.locks.Bridges, "network")+" locked")
	}
	words := "▲ locks not in place"
	if len(m.locks.Drift) > 0 {
		words += ": " + termtext.Escape(m.locks.Drift[0])
	}
	return title + m.theme.Warn.Render(words)
}

// numbers summarizes the rows.
func (m *Model) numbers() string {
	allowed, refused := 0, 0
	for _, a := range m.rows {
		if a.Allowed {
			allowed++
		} else {
			refused += a.Times
		}
	}
	parts := []string{amount.Short(allowed) + " allowed", amount.Short(refused) + " refused"}
	if m.refused {
		parts[0] = "only refused"
	}
	if m.only != "" {
		parts = append([]string{string(m.only)}, parts...)
	}
	if m.filter.Value() != "" {
		place := fmt.Sprintf("%d/%d", min(m.cursor.At()+1, len(m.rows)), len(m.rows))
		if !m.filter.Typing() {
			place = m.theme.Key.Render("/") + termtext.Escape(m.filter.Value()) + " " + place
		}
		parts = append([]string{place}, parts...)
	}
	return strings.Join(parts, " · ")
}

// empty explains why the list is empty.
func (m *Model) empty() string {
	if m.filter.Value() != "" || m.refused || m.only != "" {
		return "no access matches the filter"
	}
	return "no sandbox has used the network yet"
}

// line returns a row of the table. The selected row starts with a mark.
func (m *Model) line(c columns, here bool, cells ...string) string {
	widths := []int{c.time, c.session, c.what, c.target}
	var out strings.Builder
	out.WriteString(cursor.Here(here) + " ")
	for i, cell := range cells {
		switch {
		case i == len(widths):
			out.WriteString(cell)
		case widths[i] > 0:
			out.WriteString(frame.Pad(cell, widths[i]) + " ")
		}
	}
	return ansi.Truncate(out.String(), m.width, "…")
}

// row returns an access as a row of the table.
func (m *Model) row(c columns, a auditlog.Access, selected bool) string {
	w := traffic.Say(a)
	what, at := w.Mark+" "+w.What, m.when(a.Time)
	if selected {
		return m.theme.Selected.Render(frame.Pad(m.line(c, true, at, string(a.Session), what, w.Target, w.Detail), m.width))
	}
	style := m.theme.Bad
	if a.Allowed {
		style = m.theme.Good
	}
	return m.line(c, false, m.theme.Faint.Render(at), string(a.Session), style.Render(what), w.Target, m.theme.Faint.Render(w.Detail))
}

// full returns the selected access, as much of it as fits into fullRows.
func (m *Model) full() []string {
	a, some := m.current()
	if !some {
		return make([]string, fullRows)
	}
	w := traffic.Say(a)
	word := "refused"
	if a.Allowed {
		word = "allowed"
	}
	text := a.Time.Local().Format(time.DateOnly) + " " + word + " " + w.String()
	if a.Rule != "" {
		text += " · rule " + termtext.Escape(a.Rule)
	}
	if id := a.Event.String(); id != "" && a.What == auditlog.AskedEgress {
		text += " · " + id
	}
	return frame.Fill(frame.Wrap(text, m.width), fullRows)
}
