package sessionview

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/status"

	"github.com/charmbracelet/x/ansi"
)

const (
	headRows = frame.HeadRows + 1 // the head and the task
	footRows = 1                  // the note or the search field
	wide     = 100                // from this width on the event pane is beside the output
	lowest   = 14                 // the minimum height for both panes below each other
)

// layout is the size of the panes.
type layout struct {
	output, side int // rows; 0 means hidden
	left         int // columns of the output
	right        int // columns of the event pane
}

func (m *Model) layout() layout {
	body := max(1, m.height-headRows-footRows)
	all := layout{output: body, left: m.width, right: m.width}
	switch {
	case !m.side:
	case m.width >= wide:
		all.left = m.width*3/5 - frame.PaneGap
		all.right, all.side = m.width-all.left-frame.PaneGap, body
	case body < lowest && m.events.focused:
		all.output, all.side = 0, body
	case body < lowest:
	default:
		all.side = body / 3
		all.output = body - all.side - 1
	}
	return all
}

// fit resizes the log.
func (m *Model) fit() {
	l := m.layout()
	m.log.SetSize(l.left, l.output)
	m.conversation.SetSize(l.left, l.output)
	m.form.resize(m.width, m.height)
}

// inEvents reports whether a cell belongs to the event pane.
func (m *Model) inEvents(x, y int) bool {
	l := m.layout()
	switch {
	case l.side == 0:
		return false
	case m.width >= wide:
		return x >= l.left+frame.PaneGap
	default:
		return y >= headRows+l.output
	}
}

// showsScreen reports whether the agent's screen is shown instead of its log.
func (m *Model) showsScreen() bool { return m.session.Interactive && !m.terminal.lost }

// View returns the screen.
func (m *Model) View() string {
	l := m.layout()
	var output, side []string
	if l.output > 0 {
		output = frame.Fill(m.outputView(l), l.output)
	}
	if l.side > 0 {
		side = m.events.view(l.right, l.side, m.noEvents())
	}
	out := append(m.head(), m.task())
	if l.output > 0 && m.converses() {
		out[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: m.conversation.Position(), End: l.left})
	}
	switch {
	case l.side == 0:
		out = append(out, output...)
	case m.width >= wide:
		out = append(out, frame.Panes(m.theme, output, side, l.left)...)
	case l.output == 0:
		out = append(out, side...)
	default:
		out = append(append(append(out, output...), frame.Rule(m.theme, m.width)), side...)
	}
	out = append(out, m.foot())
	screen := strings.Join(frame.Fill(frame.Cut(out, m.width), m.height), "\n")
	if m.form != nil {
		return dialog.Over(screen, m.form.View(m.theme), m.width, m.height)
	}
	return m.ask.Over(screen, m.theme, m.width, m.height)
}

// head returns the session, its status and the numbers.
func (m *Model) head() []string {
	t := m.theme
	left := t.Title.Render(string(m.id))
	if m.loaded {
		b := summary.Of(&m.session)
		b.Waiting, b.Prompting = len(m.live.Requests), m.live.Waiting
		current := b.Status()
		left += "  " + status.Style(&t, current).Render(status.Text(current))
		if b.Position > 0 {
			left += fmt.Sprintf(" %d", b.Position)
		}
	}
	var right []string
	if m.live.Tokens.Lost {
		right = append(right, "tokens unknown")
	} else if n := m.live.Tokens.Input + m.live.Tokens.Output; n > 0 {
		right = append(right, amount.Short(n)+" tokens")
	}
	if cost := m.live.Tokens.CostText(); cost != "" && (m.live.Tokens.Cost > 0 || m.width >= wide) {
		right = append(right, cost)
	}
	if m.live.Calls > 0 && m.width >= wide {
		right = append(right, amount.Of(m.live.Calls, "model call"))
	}
	if n := m.live.Egress.Allowed; n > 0 && m.width >= wide {
		right = append(right, amount.Short(n)+" outside")
	}
	for _, p := range m.live.Ports {
		right = append(right, t.Live.Render(fmt.Sprintf("port %d on %s", p.Port, termtext.Escape(p.Address))))
	}
	refused := 0
	for _, r := range m.live.Refused {
		refused += r.Times
	}
	if refused > 0 {
		right = append(right, t.Warn.Render(fmt.Sprintf("%d refused", refused)))
	}
	if open := m.session.Exits(); m.loaded && open != "" {
		right = append(right, t.Warn.Render("way out: "+termtext.Escape(open)))
	}
	if !m.live.Deadline.IsZero() {
		right = append(right, "until "+m.live.Deadline.Local().Format(time.TimeOnly))
	}
	text := strings.Join(right, " · ")
	for _, used := range m.usage.texts() { // everything else takes precedence
		if with := strings.Join(append([]string{used}, right...), " · "); ansi.StringWidth(left)+1+ansi.StringWidth(with) <= m.width {
			text = with
			break
		}
	}
	return frame.Head(t, m.width, left, text)
}

// task returns the repository and the task, or why the session failed.
func (m *Model) task() string {
	if !m.loaded {
		return ""
	}
	if r := m.session.State.Result; r != nil && r.Fault != nil {
		return m.theme.Bad.Render(ansi.Truncate(termtext.Escape(r.Fault.Message), m.width, "…"))
	}
	b := summary.Of(&m.session)
	if b.Queue != "" {
		return m.theme.Warn.Render(ansi.Truncate("in the queue: "+termtext.Escape(b.Queue), m.width, "…"))
	}
	place := paths.Short(b.Repository)
	if b.Template != "" {
		place = b.Place()
	}
	return m.theme.Faint.Render(ansi.Truncate(termtext.Escape(strings.TrimSpace(place+"  "+b.Task)), m.width, "…"))
}

// outputView returns the agent's output, or its screen.
func (m *Model) outputView(l layout) []string {
	if m.showsScreen() {
		return m.terminal.view(l.left, l.output)
	}
	return m.output().View()
}

// noEvents returns the text for an event pane without events.
func (m *Model) noEvents() string {
	if m.loaded {
		return "none so far"
	}
	return ""
}

// finished reports whether the session has ended.
func (m *Model) finished() bool { return m.loaded && m.session.State.Phase == session.Ended }

// foot returns the search field, the note, or why the output is not read any more.
func (m *Model) foot() string {
	out := m.output()
	if out.Typing() {
		return out.Line()
	}
	if err := out.Failed(); err != nil && m.note.Text() == "" {
		return m.theme.Bad.Render(ansi.Truncate("✗ reading stopped; end reads again: "+termtext.Escape(err.Error()), m.width, "…"))
	}
	return m.note.View(m.theme, m.width)
}
