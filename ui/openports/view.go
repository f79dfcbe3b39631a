package openports

import (
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	headingRows = 1
	footRows    = 1
	portWidth   = 7
	serverWidth = 22 // room for an IPv4 address and ::
)

// listHeight returns the rows of the list.
func (m *Model) listHeight() int {
	return max(1, m.height-frame.HeadRows-headingRows-footRows)
}

// View returns the screen.
func (m *Model) View() string {
	lines := frame.Head(m.theme, m.width, m.head(), "")
	lines[1] = frame.TitledRule(m.theme, m.width, m.cursor.Position())
	lines = append(lines, m.list()...)
	return strings.Join(append(frame.Fill(frame.Cut(lines, m.width), m.height-footRows), m.foot()), "\n")
}

// foot returns the note or, if there is none, why the list could not be read, or the text that does not
// fit into the selected row.
func (m *Model) foot() string {
	row := m.current()
	switch {
	case m.note.Text() != "":
	case m.failed.Text() != "":
		return m.failed.View(m.theme, m.width)
	case row != nil && row.shown:
		switch {
		case row.held.Err != nil:
			return m.theme.Bad.Render(ansi.Truncate(termtext.Escape(row.held.Err.Error()), m.width, "…"))
		case row.held.Notice != "":
			return m.theme.Warn.Render(ansi.Truncate(termtext.Escape(row.held.Notice), m.width, "…"))
		}
	}
	return m.note.View(m.theme, m.width)
}

// head returns the title and how many ports are open.
func (m *Model) head() string {
	open := 0
	for i := range m.rows {
		if m.rows[i].open() {
			open++
		}
	}
	text := m.theme.Title.Render("Ports") + " of " + string(m.id)
	if open > 0 {
		text += " · " + m.theme.Live.Render(amount.Of(open, "port")+" open")
	}
	return text
}

// list returns the heading and the visible rows.
func (m *Model) list() []string {
	switch {
	case !m.loaded && len(m.rows) == 0:
		return []string{m.theme.Faint.Render("looking for ports…")}
	case len(m.rows) == 0:
		return append([]string{""}, m.explanation()...)
	}
	out := []string{m.theme.Faint.Render("  " + frame.Pad("PORT", portWidth) + frame.Pad("LISTENS ON", m.serverWidth()) + "ON THIS MACHINE")}
	from, to := m.cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, m.row(&m.rows[i], i == m.cursor.At()))
	}
	return out
}

// explanation returns what to do when no program listens.
func (m *Model) explanation() []string {
	return frame.Wrap("No program in the sandbox listens on a port. Once a server runs there, it appears here, and enter makes it reachable on this machine.", m.width)
}

// serverWidth returns the width of the column of addresses.
func (m *Model) serverWidth() int {
	if m.width < 60 {
		return serverWidth - 6
	}
	return serverWidth
}

// row returns a line of the list.
func (m *Model) row(r *row, selected bool) string {
	servers := r.servers()
	if servers == "" {
		servers = "nothing"
	}
	where, style := m.where(r)
	left := cursor.Here(selected) + " " + frame.Pad(strconv.Itoa(int(r.port)), portWidth) + frame.Pad(ansi.Truncate(servers, m.serverWidth()-1, "…"), m.serverWidth())
	if selected {
		return m.theme.Selected.Render(frame.Pad(left+where, m.width))
	}
	return left + style.Render(where)
}

// where returns where the port is open, or why it is not.
func (m *Model) where(r *row) (string, lipgloss.Style) {
	switch {
	case !r.shown:
		return "–", m.theme.Faint
	case r.held.Err != nil:
		return "✗ " + termtext.Escape(r.held.Err.Error()), m.theme.Bad
	case !r.open():
		return "opening…", m.theme.Faint
	case r.held.Notice != "":
		return r.url() + "  ! " + termtext.Escape(r.held.Notice), m.theme.Warn
	default:
		return r.url(), m.theme.Live
	}
}
