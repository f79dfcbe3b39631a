package approvals

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// View draws the question over a screen, or the outcome of the last one on its last row.
func (m *Model) View(screen string) string {
	if m.Outcome() {
		above := screen[:strings.LastIndexByte(screen, '\n')+1]
		if m.good {
			return above + m.theme.Good.Render(ansi.Truncate("✓ "+m.outcome, m.width, "…"))
		}
		return above + m.theme.Warn.Render(ansi.Truncate("! "+m.outcome, m.width, "…"))
	}
	return dialog.Over(screen, m.box(), m.width, m.height)
}

// inner returns the width inside the frame.
func (m *Model) inner() int { return max(10, min(64, m.width-6)) }

// roomy is the minimum height at which a question about access has blank lines and a long host name
// takes several lines.
const roomy = 20

func (m *Model) box() string {
	t := m.theme
	wrapped := func(text string) string { return strings.Join(frame.Wrap(text, m.inner()), "\n") }
	r := m.shown
	title := string(r.Session) + " asks"
	if r.Access != nil {
		title += " for access to"
	}
	if len(m.waiting) > 1 {
		title += fmt.Sprintf(" (one of %d questions)", len(m.waiting))
	}
	head, buttons, low := []string{t.Title.Render(wrapped(title))}, m.buttons(), m.height < roomy
	var text []string
	if r.Access != nil {
		text = m.accessText(r)
	} else {
		text = frame.Wrap(questionText(r), m.inner())
		room := m.height - t.Dialog.GetVerticalFrameSize() - lipgloss.Height(head[0]) - len(buttons)
		low = len(text)+blanks > room
		if !low {
			room -= blanks
		}
		text = m.scroll.Part(t, text, max(2, room))
	}
	if !low {
		head, buttons = append(head, ""), append([]string{""}, buttons...)
	}
	return t.Dialog.Render(strings.Join(slices.Concat(head, text, buttons), "\n"))
}

// blanks is the number of blank lines around the text of a question, if there is room for them.
const blanks = 2

// questionText returns a question that is not about a connection, escaped.
func questionText(r *session.Request) string {
	text := termtext.Escape(r.Question)
	if !r.Until.IsZero() {
		text += " It expires at " + r.Until.Local().Format(time.TimeOnly) + "."
	}
	return text
}

// accessText returns a question about a connection: the target, why the policy refuses it,
// and when the question expires. A long host name keeps its end, which names its
// owner.
func (m *Model) accessText(r *session.Request) []string {
	a := r.Access
	target := termtext.Escape(net.JoinHostPort(a.Host, strconv.Itoa(a.Port)))
	most := m.inner()
	if m.height >= roomy {
		most *= 4
	}
	if ansi.StringWidth(target) > most {
		target = ansi.TruncateLeft(target, ansi.StringWidth(target)-most+1, "…")
	}
	var lines []string
	for _, text := range []string{
		target,
		"by " + ansi.Truncate(termtext.Escape(a.Method), 20, "…") + ": " + termtext.Escape(a.Reason) + ".",
		"Refused in " + m.remaining(r.Until) + " without an answer.",
	} {
		style := m.theme.Faint
		if text == target {
			style = m.theme.Title
		}
		for line := range strings.SplitSeq(ansi.Hardwrap(strings.Join(frame.Wrap(text, m.inner()), "\n"), m.inner(), true), "\n") {
			lines = append(lines, style.Render(line))
		}
	}
	return lines
}

// buttons returns the buttons, in as many rows as they need.
func (m *Model) buttons() []string {
	var rows []string
	row := ""
	for i, c := range m.choicesOf(m.shown) {
		label := ansi.Truncate(c.label, max(1, m.inner()-2), "…")
		button := " " + label + " "
		if i == m.choice {
			button = m.theme.Button.Render("[" + label + "]")
		}
		if row != "" && ansi.StringWidth(row)+1+ansi.StringWidth(button) > m.inner() {
			rows = append(rows, row)
			row = ""
		}
		if row != "" {
			row += " "
		}
		row += button
	}
	return append(rows, row)
}

// Click handles a click on a cell of the screen while a question is open. The first click on a
// button focuses it and the second one presses it, so a stray click answers nothing.
func (m *Model) Click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft {
		return nil
	}
	if now := m.Now(); now.Sub(m.lastKey) < dialog.Grace {
		m.lastKey = now
		return nil
	}
	i, hit := m.button(msg.X, msg.Y)
	switch {
	case !hit:
	case i != m.choice:
		m.choice = i
	default:
		return m.reply(m.choicesOf(m.shown)[i].answer)
	}
	return nil
}

// button returns the button at a cell.
func (m *Model) button(x, y int) (int, bool) {
	var texts []string
	for _, c := range m.choicesOf(m.shown) {
		texts = append(texts, ansi.Truncate(c.label, max(1, m.inner()-2), "…"))
	}
	return dialog.Hit(m.box(), texts, m.width, m.height, x, y)
}
