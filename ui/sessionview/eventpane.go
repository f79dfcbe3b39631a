package sessionview

import (
	"slices"
	"strings"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/ui/traffic"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// eventPane shows the network accesses of a session and the entries of its log.
type eventPane struct {
	traffic traffic.Log
	entries []logEntry
	focused bool // keys move in the pane
	back    int  // rows scrolled back from the end
	theme   theme.Theme
}

// add adds an event of the session's log.
func (p *eventPane) add(id session.ID, e audit.Event) {
	if live, ok := session.LiveOf(e); ok {
		p.traffic.Count(id, live)
	} else if access, ok := auditlog.AccessOf(id, e); ok {
		p.traffic.Add(access)
	}
	if entry, ok := describe(e); ok {
		p.entries = append(p.entries, entry)
	}
}

// scroll moves down by n rows, or up if n is negative.
func (p *eventPane) scroll(n int) {
	p.back = max(0, min(p.back-n, 2*(len(p.traffic.All())+len(p.entries))))
}

// view returns the pane: height rows of at most width columns, the latest event last.
// empty is the text for no events.
func (p *eventPane) view(width, height int, empty string) []string {
	title := p.theme.Title
	if p.focused {
		title = p.theme.Key
	}
	room := height - 1
	rows := p.latest(width, room+p.back+1) // one more tells whether there is one
	back := max(0, min(p.back, len(rows)-room))
	more := len(rows) > room+back
	rows = rows[max(0, len(rows)-room-back):]
	if whole := slices.IndexFunc(rows, func(row string) bool { return !strings.HasPrefix(row, indentText) }); whole > 0 && back == 0 {
		rows = rows[whole:] // not the rest of an event that is cut
	}
	hidden := ""
	if more {
		hidden += " ↑ more"
	}
	if back > 0 {
		hidden += " ↓ more"
	}
	out := []string{frame.Ends(width, title.Render("Network and events"), p.theme.Faint.Render(strings.TrimSpace(hidden)))}
	if len(rows) == 0 {
		rows = []string{p.theme.Faint.Render(empty)}
	}
	return frame.Fill(append(out, rows[:min(len(rows), room)]...), height)
}

// latest returns at least the last n rows, if there are so many.
func (p *eventPane) latest(width, n int) []string {
	accesses, entries := p.traffic.All(), p.entries
	var out []string // last first
	for len(out) < n && len(accesses)+len(entries) > 0 {
		var rows []string
		i, j := len(accesses)-1, len(entries)-1
		if i >= 0 && (j < 0 || !accesses[i].Time.Before(entries[j].time)) {
			rows, accesses = p.access(accesses[i], width), accesses[:i]
		} else {
			rows, entries = p.event(entries[j], width), entries[:j]
		}
		slices.Reverse(rows)
		out = append(out, rows...)
	}
	slices.Reverse(out)
	return out
}

// indentText precedes the rows of an event after the first.
const (
	indentText = "           "
	indent     = len(indentText)
)

// access returns a network access in two rows.
func (p *eventPane) access(a auditlog.Access, width int) []string {
	w := traffic.Say(a)
	style := p.theme.Bad
	if a.Allowed {
		style = p.theme.Good
	}
	first := p.theme.Faint.Render(w.Time) + " " + style.Render(w.Mark+" "+w.What) + " " + w.Target
	return []string{ansi.Truncate(first, width, "…"), p.below(w.Detail, width, p.theme.Faint)}
}

// event returns an entry of the session's log in rows.
func (p *eventPane) event(h logEntry, width int) []string {
	style := p.theme.Faint
	if h.mark != "·" {
		style = p.theme.Warn
	}
	rows := frame.Wrap(h.text, max(8, width-indent))
	rows[0] = p.theme.Faint.Render(h.time.Local().Format(time.TimeOnly)) + " " + style.Render(ansi.Truncate(h.mark+" "+rows[0], max(1, width-indent+2), "…"))
	for i, row := range rows[1:] {
		rows[i+1] = p.below(row, width, style)
	}
	return rows
}

// below returns a row below the first one.
func (p *eventPane) below(text string, width int, style lipgloss.Style) string {
	return indentText + style.Render(ansi.Truncate(text, max(1, width-indent), "…"))
}
