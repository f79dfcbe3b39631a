package sessionview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/traffic"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/status"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	headRows = frame.HeadRows + 1 // the head and the task
	footRows = 1                  // the last note, or the words to look for
	wide     = 100                // from this width on the network is beside the record
	lowest   = 14                 // rows that both panes need below each other
)

// layout is where the panes are.
type layout struct {
	record, side int // rows; 0 is not shown
	left         int // columns of the record
	right        int // columns of the network
}

func (m *Model) layout() layout {
	body := max(1, m.height-headRows-footRows)
	all := layout{record: body, left: m.width, right: m.width}
	switch {
	case !m.side:
	case m.width >= wide:
		all.left = m.width*3/5 - frame.PaneGap
		all.right, all.side = m.width-all.left-frame.PaneGap, body
	case body < lowest && m.beside:
		all.record, all.side = 0, body
	case body < lowest:
	default:
		all.side = body / 3
		all.record = body - all.side - 1
	}
	return all
}

// fit gives the record the room it has.
func (m *Model) fit() {
	l := m.layout()
	m.record.SetSize(l.left, l.record)
}

// isBeside reports whether a cell belongs to the pane of the network.
func (m *Model) isBeside(x, y int) bool {
	l := m.layout()
	switch {
	case l.side == 0:
		return false
	case m.width >= wide:
		return x >= l.left+frame.PaneGap
	default:
		return y >= headRows+l.record
	}
}

// showsScreen reports whether the screen of the agent is shown, and not its record.
func (m *Model) showsScreen() bool { return m.session.Interactive && !m.noScreen }

// View returns the screen.
func (m *Model) View() string {
	l := m.layout()
	var record, side []string
	if l.record > 0 {
		record = frame.Fill(m.outputView(l), l.record)
	}
	if l.side > 0 {
		side = m.network(l.right, l.side)
	}
	out := append(m.head(), m.task())
	switch {
	case l.side == 0:
		out = append(out, record...)
	case m.width >= wide:
		out = append(out, frame.Panes(m.theme, record, side, l.left)...)
	case l.record == 0:
		out = append(out, side...)
	default:
		out = append(append(append(out, record...), frame.Rule(m.theme, m.width)), side...)
	}
	out = append(out, m.foot())
	for i, line := range out {
		out[i] = ansi.Truncate(line, m.width, "…")
	}
	view := strings.Join(frame.Fill(out, m.height), "\n")
	if m.ask != nil {
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	}
	return view
}

// head returns the session and the numbers.
func (m *Model) head() []string {
	t := m.theme
	left := t.Title.Render(string(m.id))
	if m.loaded {
		b := m.session.Summary()
		current := b.Status()
		left += "  " + status.Style(&t, current).Render(status.Text(current))
	}
	var right []string
	if m.live.Tokens.Lost {
		right = append(right, "tokens unknown")
	} else if n := m.live.Tokens.Input + m.live.Tokens.Output; n > 0 {
		right = append(right, amount.Short(n)+" tokens")
	}
	if m.live.Calls > 0 && m.width >= wide {
		right = append(right, amount.Of(m.live.Calls, "model call"))
	}
	refused := 0
	for _, r := range m.live.Refused {
		refused += r.Times
	}
	if refused > 0 {
		right = append(right, t.Warn.Render(fmt.Sprintf("%d refused", refused)))
	}
	if open := m.session.OpenTools(); m.loaded && open != "" {
		right = append(right, t.Warn.Render("way out: "+open))
	}
	if !m.live.Deadline.IsZero() {
		right = append(right, "until "+m.live.Deadline.Local().Format(time.TimeOnly))
	}
	return frame.Head(t, m.width, left, strings.Join(right, " · "))
}

// task returns what the agent is to do, and where; at the end what went wrong.
func (m *Model) task() string {
	if !m.loaded {
		return ""
	}
	if r := m.session.State.Result; r != nil && r.Fault != nil {
		return m.theme.Bad.Render(ansi.Truncate(termtext.Escape(r.Fault.Message), m.width, "…"))
	}
	b := m.session.Summary()
	return m.theme.Faint.Render(ansi.Truncate(termtext.Escape(strings.TrimSpace(paths.Short(b.Repository)+"  "+b.Task)), m.width, "…"))
}

// outputView returns what the agent says, or the screen that it shows.
func (m *Model) outputView(l layout) []string {
	if m.showsScreen() {
		return m.screen(l)
	}
	return m.record.View()
}

// finished reports whether the session is known to have ended.
func (m *Model) finished() bool { return m.loaded && m.session.State.Phase == session.Ended }

// foot returns the last note, or the words that are typed.
func (m *Model) foot() string {
	if m.record.Typing() {
		return m.record.Line()
	}
	return m.note.View(m.theme, m.width)
}

// network returns the pane of what happened: height rows of at most width columns, the
// latest at its end.
func (m *Model) network(width, height int) []string {
	title := m.theme.Title
	if m.beside {
		title = m.theme.Key
	}
	out := []string{title.Render(ansi.Truncate("What the network let through and refused", width, "…"))}
	room := height - 1
	rows := m.latest(width, room+m.back)
	back := max(0, min(m.back, len(rows)-room))
	rows = rows[max(0, len(rows)-room-back):]
	if whole := slices.IndexFunc(rows, func(row string) bool { return !strings.HasPrefix(row, indentText) }); whole > 0 && back == 0 {
		rows = rows[whole:] // the end of what is cut says nothing
	}
	if len(rows) == 0 && m.loaded {
		rows = []string{m.theme.Faint.Render("nothing so far")}
	}
	return frame.Fill(append(out, rows[:min(len(rows), room)]...), height)
}

// latest returns at least the last n rows of what happened, if there are so many.
func (m *Model) latest(width, n int) []string {
	accesses, entries := m.traffic.All(), m.entries
	var out []string // last first
	for len(out) < n && len(accesses)+len(entries) > 0 {
		var rows []string
		i, j := len(accesses)-1, len(entries)-1
		if i >= 0 && (j < 0 || !accesses[i].Time.Before(entries[j].time)) {
			rows, accesses = m.access(accesses[i], width), accesses[:i]
		} else {
			rows, entries = m.event(entries[j], width), entries[:j]
		}
		slices.Reverse(rows)
		out = append(out, rows...)
	}
	slices.Reverse(out)
	return out
}

// besides stands before what is said of an access, or continues from the row above.
const (
	indentText = "           "
	indent     = len(indentText)
)

// access returns what was asked of the network, in two rows.
func (m *Model) access(a session.Access, width int) []string {
	w := traffic.Say(a)
	style := m.theme.Bad
	if a.Allowed {
		style = m.theme.Good
	}
	first := m.theme.Faint.Render(w.Time) + " " + style.Render(w.Mark+" "+w.What) + " " + w.Target
	return []string{ansi.Truncate(first, width, "…"), m.below(w.Detail, width, m.theme.Faint)}
}

// event returns what else happened.
func (m *Model) event(h logEntry, width int) []string {
	style := m.theme.Faint
	if h.mark != "·" {
		style = m.theme.Warn
	}
	rows := strings.Split(ansi.Wrap(h.text, max(8, width-indent), ""), "\n")
	rows[0] = m.theme.Faint.Render(h.time.Local().Format(time.TimeOnly)) + " " + style.Render(ansi.Truncate(h.mark+" "+rows[0], max(1, width-indent+2), "…"))
	for i, row := range rows[1:] {
		rows[i+1] = m.below(row, width, style)
	}
	return rows
}

func (m *Model) below(text string, width int, style lipgloss.Style) string {
	return indentText + style.Render(ansi.Truncate(text, max(1, width-indent), "…"))
}
