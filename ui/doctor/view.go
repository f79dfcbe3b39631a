package doctor

import (
	"fmt"
	"strings"

	"aibox/app/doctor"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/checkup"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	noteRows   = 1
	beside     = 110 // from this width on the pane is beside the list
	paneHeight = 6   // below the list, with its rule
	nameWidth  = 24
)

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between head and note.
func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-noteRows) }

func (m *Model) listHeight() int {
	if m.wide() {
		return m.bodyHeight()
	}
	return max(1, m.bodyHeight()-paneHeight)
}

func (m *Model) listWidth() int {
	if m.wide() {
		return m.width*11/20 - frame.PaneGap
	}
	return m.width
}

// View returns the screen.
func (m *Model) View() string {
	lines := frame.Head(m.theme, m.width, m.head(), "")
	if !m.proving {
		lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: m.cursor.Position(), End: m.listWidth()})
	}
	switch {
	case m.proving:
		lines = append(lines, m.proof.View()...)
	case m.wide():
		width := m.listWidth()
		pane := m.pane(m.width-width-frame.PaneGap, m.bodyHeight())
		lines = append(lines, frame.Panes(m.theme, m.list(), pane, width)...)
	default:
		lines = append(lines, m.list()...)
		lines = append(lines, frame.Rule(m.theme, m.width))
		lines = append(lines, m.pane(m.width, paneHeight-1)...)
	}
	return strings.Join(append(frame.Fill(lines, m.height-noteRows), m.note.View(m.theme, m.width)), "\n")
}

// head returns the title and the numbers of findings.
func (m *Model) head() string {
	if m.proving {
		return m.theme.Title.Render("This machine") + " · proof of isolation"
	}
	var found []doctor.Finding
	for _, row := range m.rows {
		if !row.Running {
			found = append(found, row.Finding)
		}
	}
	parts := []string{m.theme.Title.Render("This machine")}
	if n := doctor.Count(found, doctor.Missing); n > 0 {
		parts = append(parts, m.theme.Bad.Render(fmt.Sprintf("%d missing", n)))
	}
	if n := doctor.Count(found, doctor.Warning); n > 0 {
		parts = append(parts, m.theme.Warn.Render(amount.Of(n, "warning")))
	}
	if m.checkup.Busy() {
		parts = append(parts, m.theme.Faint.Render("checking…"))
	} else {
		parts = append(parts, fmt.Sprintf("%d ok", doctor.Count(found, doctor.OK)))
	}
	return strings.Join(parts, " · ")
}

// list returns the visible rows.
func (m *Model) list() []string {
	out := make([]string, 0, m.listHeight())
	from, to := m.cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, m.row(m.rows[i], i == m.cursor.At()))
	}
	if len(m.rows) == 0 {
		out = append(out, m.theme.Faint.Render("checking…"))
	}
	return frame.Fill(out, m.listHeight())
}

// row returns a line of the list.
func (m *Model) row(row checkup.Row, selected bool) string {
	mark, style := m.mark(row)
	text := frame.Pad(termtext.Escape(row.Name), nameWidth) + "  " + termtext.Escape(row.Detail)
	if row.Running && row.Detail == "" {
		text = termtext.Escape(row.Name)
	}
	width := m.listWidth()
	if selected {
		return m.theme.Selected.Render(frame.Pad(cursor.Mark+" "+mark+" "+text, width))
	}
	return "  " + style.Render(mark) + " " + ansi.Truncate(text, width-4, "…")
}

// mark returns a mark that shows the state without color.
func (m *Model) mark(row checkup.Row) (string, lipgloss.Style) {
	switch {
	case row.Running:
		return "…", m.theme.Faint
	case row.State == doctor.Missing:
		return "✗", m.theme.Bad
	case row.State == doctor.Warning:
		return "!", m.theme.Warn
	default:
		return "✓", m.theme.Good
	}
}

// pane returns the selected row in full.
func (m *Model) pane(width, height int) []string {
	row := m.current()
	if row == nil {
		return frame.Fill(nil, height)
	}
	mark, style := m.mark(*row)
	out := []string{style.Render(mark) + " " + m.theme.Title.Render(ansi.Truncate(termtext.Escape(row.Name), width-2, "…"))}
	add := func(text string, style lipgloss.Style) {
		for _, line := range frame.Wrap(termtext.Escape(text), width) {
			out = append(out, style.Render(line))
		}
	}
	if row.Detail != "" {
		add(row.Detail, m.theme.Plain)
	}
	if row.Fix != "" {
		if height > paneHeight {
			out = append(out, "")
		}
		_, own := m.commandOf(row)
		_, root := row.RootCommand()
		switch {
		case row.FixedByBuild():
			add("enter bakes it: "+row.Fix, m.theme.Key)
		case own:
			add("enter runs: "+row.Fix, m.theme.Key)
		case isImages(row):
			add("enter shows the images: "+row.Fix, m.theme.Key)
		case root:
			add("enter asks, then runs: "+row.Fix, m.theme.Key)
		default:
			add("to fix it: "+row.Fix, m.theme.Key)
		}
	}
	return frame.Fill(out, height)
}
