package images

import (
	"fmt"
	"strings"

	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

const (
	noteRows = 1
	beside   = 120 // from this width on the pane is beside the list
)

// painter returns the painter for the current moment.
func (m *Model) painter() *painter { return &painter{bakes.Painter{Theme: m.theme, Now: m.now()}} }

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between the head and the note.
func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-noteRows) }

// listHeight returns the rows of the list, without the column names.
func (m *Model) listHeight() int {
	if m.wide() {
		return max(1, m.bodyHeight()-1)
	}
	return max(1, m.bodyHeight()-1-m.paneHeight()-1)
}

// factRows are the rows of an image that is not being baked.
const factRows = 6

// paneHeight returns the rows of the pane below the list, without its rule. It needs more
// where there is a bake to show.
func (m *Model) paneHeight() int {
	height := m.bodyHeight() / 2
	if len(m.list.jobs) == 0 {
		height = min(height, factRows)
	}
	return max(0, min(height, m.bodyHeight()-4))
}

func (m *Model) listWidth() int {
	if m.wide() {
		return m.width/2 - 1
	}
	return m.width
}

// View returns the screen.
func (m *Model) View() string {
	lines := frame.Head(m.theme, m.width, m.head(), m.right())
	lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: m.list.cursor.Position(), End: m.listWidth()})
	switch {
	case m.log.open:
		lines[1] = frame.TitledRule(m.theme, m.width, m.log.cursor.Position())
		lines = append(lines, m.log.view(m.theme, m.width, m.bodyHeight())...)
	case m.wide():
		width := m.listWidth()
		pane := m.painter().pane(m.list.current(), m.width-width-frame.PaneGap, m.bodyHeight())
		lines = append(lines, frame.Panes(m.theme, m.listView(), pane, width)...)
	default:
		lines = append(lines, m.listView()...)
		lines = append(lines, frame.Rule(m.theme, m.width))
		lines = append(lines, m.painter().pane(m.list.current(), m.width, m.paneHeight())...)
	}
	return m.ask.Over(strings.Join(append(frame.Fill(lines, m.height-noteRows), m.note.View(m.theme, m.width)), "\n"), m.theme, m.width, m.height)
}

// head returns the title and the numbers of images.
func (m *Model) head() string {
	if r := m.list.current(); m.log.open && r != nil && r.job != nil {
		return m.theme.Title.Render("Baking "+termtext.Escape(r.Name)) + " · " + m.painter().Summary(r.job)
	}
	parts := []string{m.theme.Title.Render("Images")}
	count := map[bakery.State]int{}
	for _, r := range m.list.rows {
		count[r.State]++
	}
	if n := m.list.baking(); n > 0 {
		parts = append(parts, m.theme.Live.Render(fmt.Sprintf("%d baking", n)))
	}
	for _, state := range []bakery.State{bakery.Fresh, bakery.Outdated, bakery.Missing} {
		if count[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
		}
	}
	return strings.Join(parts, " · ")
}

// right returns the text at the end of the head.
func (m *Model) right() string {
	switch {
	case m.log.search.Typing():
		return m.log.search.View()
	case m.log.open && m.log.search.Value() != "":
		return m.theme.Key.Render("/") + termtext.Escape(m.log.search.Value())
	case m.log.open && m.log.follow:
		return m.theme.Faint.Render("following")
	case len(m.list.marked) > 0 && !m.log.open:
		return m.theme.Key.Render(fmt.Sprintf("%d marked", len(m.list.marked)))
	default:
		return ""
	}
}

// listView returns the column names and the visible rows.
func (m *Model) listView() []string {
	width := m.listWidth()
	out := make([]string, 0, m.listHeight()+1)
	if !m.loaded && len(m.list.rows) == 0 {
		return frame.Fill([]string{"", m.theme.Faint.Render("  checking the images…")}, m.listHeight()+1)
	}
	if m.listErr != nil && len(m.list.rows) == 0 {
		return frame.Fill(append([]string{""}, m.painter().Error(m.listErr, width)...), m.listHeight()+1)
	}
	out = append(out, m.theme.Faint.Render(ansi.Truncate(m.columns("  ", "STATE", "IMAGE", "VERSION", "SIZE", "AGE", ""), width, "…")))
	from, to := m.list.cursor.Window()
	for i := from; i < to; i++ {
		out = append(out, m.row(&m.list.rows[i], i == m.list.cursor.At()))
	}
	return frame.Fill(out, m.listHeight()+1)
}

// columns returns a line of the list. The versions get the remaining width.
func (m *Model) columns(mark, state, name, version, size, age, progressText string) string {
	names, versions := leastName, usualVersion
	for _, r := range m.list.rows {
		names = max(names, min(ansi.StringWidth(termtext.Escape(r.Name)), mostName))
		versions = max(versions, ansi.StringWidth(termtext.Escape(r.Version)))
	}
	end := fmt.Sprintf("%7s %4s", size, age)
	if progressText != "" { // it matters more
		end = progressText
	}
	line := mark + frame.Pad(state, 11) + " " + frame.Pad(name, names) + "  "
	versions = max(leastVersion, min(versions, m.listWidth()-ansi.StringWidth(line)-1-ansi.StringWidth(end)))
	return line + frame.Pad(version, versions) + " " + end
}

// The columns of names and versions, in cells.
const (
	leastName, mostName        = 8, 12
	leastVersion, usualVersion = 7, 12
)

// row returns an image as a line of the list.
func (m *Model) row(r *row, selected bool) string {
	width := m.listWidth()
	l := m.painter().badge(r)
	mark := cursor.Here(selected)
	if m.list.marked[r.Name] {
		mark += "*"
	} else {
		mark += " "
	}
	size, age := "", ""
	if r.Image.Size > 0 {
		size = amount.Bytes(r.Image.Size)
	}
	if !r.Image.Created.IsZero() {
		age = amount.Age(m.now().Sub(r.Image.Created))
	}
	progressText := ""
	if r.job != nil && r.job.State == bakery.Baking {
		progressText = m.painter().Summary(r.job)
	}
	line := m.columns(mark, l.mark+" "+l.word, termtext.Escape(r.Name), termtext.Escape(r.Version), size, age, progressText)
	if selected {
		return m.theme.Selected.Render(frame.Pad(line, width))
	}
	head := len(mark) + len(l.mark) + 1 + len(l.word)
	return m.theme.Key.Render(mark) + l.style.Render(line[len(mark):head]) + ansi.Truncate(line[head:], width-ansi.StringWidth(line[:head]), "…")
}
