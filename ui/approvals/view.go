package approvals

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View draws the question over a screen, or the outcome of the last one on its last row.
func (m *Model) View(screen string) string {
	if m.Outcome() {
		above := screen[:strings.LastIndexByte(screen, '\n')+1]
		return above + m.theme.Warn.Render(ansi.Truncate("! "+m.outcome, m.width, "…"))
	}
	return dialog.Over(screen, m.box(), m.width, m.height)
}

// inner returns the width inside the frame.
func (m *Model) inner() int { return max(10, min(64, m.width-6)) }

func (m *Model) box() string {
	t := m.theme
	wrapped := func(text string) string { return strings.Join(frame.Wrap(text, m.inner()), "\n") }
	r := m.shown
	title := string(r.Session) + " asks"
	if len(m.waiting) > 1 {
		title += fmt.Sprintf(" (one of %d questions)", len(m.waiting))
	}
	text := termtext.Escape(r.Question)
	if !r.Until.IsZero() {
		text += " It expires at " + r.Until.Local().Format(time.TimeOnly) + "."
	}
	lines := []string{t.Title.Render(wrapped(title)), "", wrapped(text), ""}
	return t.Dialog.Render(strings.Join(append(lines, m.buttons()...), "\n"))
}

// labels returns the labels of the buttons.
func labels(r *session.Request) [choices]string {
	return [choices]string{later: "later (esc)", no: termtext.Escape(r.No) + " (n)", yes: termtext.Escape(r.Yes) + " (y)"}
}

// buttons returns the buttons, in as many rows as they need.
func (m *Model) buttons() []string {
	var rows []string
	row := ""
	for c, label := range labels(m.shown) {
		label = ansi.Truncate(label, max(1, m.inner()-2), "…")
		button := " " + label + " "
		if choice(c) == m.choice {
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

// Click handles a click on a cell of the screen while a question is open. The first
// click on a button focuses it and the second one presses it, so that a stray click
// answers nothing.
func (m *Model) Click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft {
		return nil
	}
	if now := m.Now(); now.Sub(m.lastKey) < dialog.Grace {
		m.lastKey = now
		return nil
	}
	c, hit := m.button(msg.X, msg.Y)
	switch {
	case !hit:
	case c != m.choice:
		m.choice = c
	default:
		return m.reply(c)
	}
	return nil
}

// button returns the button at a cell.
func (m *Model) button(x, y int) (choice, bool) {
	texts := labels(m.shown)
	for i, text := range texts {
		texts[i] = ansi.Truncate(text, max(1, m.inner()-2), "…")
	}
	button, hit := dialog.Hit(m.box(), texts[:], m.width, m.height, x, y)
	return choice(button), hit
}
