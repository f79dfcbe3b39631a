package snapshots

import (
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/session/snapshot"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// The measures of the screen, in cells.
const (
	headingRows   = 1 // the names of the columns
	noteRows      = 1
	beside        = 110 // from this width on the selected snapshot is beside the list
	paneHeight    = 8   // below the list, without its rule
	idWidth       = 21
	templateWidth = 12
	leastList     = 70 // beside the selected snapshot
	leastName     = 14
	mostName      = 40
	factWidth     = 10
)

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between the head and the note.
func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-noteRows) }

// listHeight returns the rows of the list, without the names of the columns.
func (m *Model) listHeight() int {
	rows := m.bodyHeight() - headingRows
	if !m.wide() {
		rows -= m.paneRows() + 1
	}
	return max(1, rows)
}

// paneRows returns the rows of the pane below the list.
func (m *Model) paneRows() int { return max(0, min(paneHeight, m.bodyHeight()-headingRows-4)) }

func (m *Model) listWidth() int {
	if m.wide() {
		return max(leastList, m.width*3/5-frame.PaneGap)
	}
	return m.width
}

// nameWidth returns the width of names: the room that the other columns leave.
func (m *Model) nameWidth() int {
	const others = 2 + idWidth + 2 + 2 + 8 + 2 + 5 + 2 + templateWidth
	return max(leastName, min(m.listWidth()-others, mostName))
}

// View returns the screen.
func (m *Model) View() string {
	position := m.cursor.Position()
	if m.choice.open {
		position = m.choice.cursor.Position()
	}
	lines := frame.Head(m.theme, m.width, m.head(), "")
	lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: position, End: m.listWidth()})
	list := frame.Fill(m.list(), m.listHeight()+headingRows)
	if m.wide() {
		width := m.listWidth()
		lines = append(lines, frame.Panes(m.theme, list, m.pane(m.width-width-frame.PaneGap, m.bodyHeight()), width)...)
	} else {
		lines = append(append(lines, list...), frame.Rule(m.theme, m.width))
		lines = append(lines, m.pane(m.width, m.paneRows())...)
	}
	note := m.note
	if note.Text() == "" {
		note = m.failed
	}
	view := strings.Join(append(frame.Fill(lines, m.height-noteRows), note.View(m.theme, m.width)), "\n")
	return m.ask.Over(view, m.theme, m.width, m.height)
}

// head returns the title and the total size of the snapshots.
func (m *Model) head() string {
	if m.choice.open {
		return m.theme.Title.Render("Snapshots") + " · of which sandbox?"
	}
	var bytes int64
	for i := range m.all {
		bytes += m.all[i].Bytes
	}
	text := m.theme.Title.Render("Snapshots")
	if len(m.all) > 0 {
		text += " · " + amount.Of(len(m.all), "snapshot") + " · " + amount.Bytes(bytes)
	}
	return text
}

// list returns the names of the columns and the visible rows.
func (m *Model) list() []string {
	width := m.listWidth()
	switch {
	case m.choice.open:
		return m.choices(width)
	case !m.loaded:
		return []string{"", m.theme.Faint.Render("  loading snapshots…")}
	case len(m.all) == 0:
		text := "No snapshots yet. A snapshot holds the files of a running sandbox and the memory of its processes; sandboxes that are started from it continue there. n takes one."
		return append([]string{""}, frame.Wrap(text, width)...)
	}
	out := []string{m.theme.Faint.Render(m.line("  ", "SNAPSHOT", "NAME", "SIZE", "AGE", "TEMPLATE"))}
	from, to := m.cursor.Window()
	for i := from; i < to; i++ {
		s := &m.all[i]
		age, size := "", ""
		if !s.Created.IsZero() {
			age, size = amount.Age(m.now().Sub(s.Created)), amount.Bytes(s.Bytes)
		}
		row := m.line(cursor.Here(i == m.cursor.At())+" ", termtext.Escape(s.ID), termtext.Escape(s.Name), size, age, template(s))
		if i == m.cursor.At() {
			row = m.theme.Selected.Render(frame.Pad(row, width))
		}
		out = append(out, row)
	}
	return out
}

// line returns a row of the list. Narrow terminals have no names.
func (m *Model) line(mark, id, name, size, age, template string) string {
	out := mark + frame.Pad(id, idWidth) + "  "
	if m.listWidth() >= 60 {
		out += frame.Pad(name, m.nameWidth()) + "  "
	}
	out += strings.Repeat(" ", max(0, 8-ansi.StringWidth(size))) + size + "  " + frame.Pad(age, 5) + "  " + template
	return ansi.Truncate(out, m.listWidth(), "…")
}

// template returns the template of a snapshot's sandbox.
func template(s *snapshot.Snapshot) string {
	if s.Spec.Sandbox == nil {
		return ""
	}
	return termtext.Escape(s.Spec.Sandbox.Template)
}

// choices returns the running sandboxes.
func (m *Model) choices(width int) []string {
	out := []string{m.theme.Faint.Render(ansi.Truncate("  "+frame.Pad("SANDBOX", idWidth)+"  "+frame.Pad("NAME", m.nameWidth())+"  TEMPLATE", width, "…"))}
	from, to := m.choice.cursor.Window()
	for i := from; i < to; i++ {
		b := &m.sandboxes[i]
		row := cursor.Here(i == m.choice.cursor.At()) + " " + frame.Pad(string(b.ID), idWidth) + "  " + frame.Pad(termtext.Escape(b.Task), m.nameWidth()) + "  " + termtext.Escape(b.Template)
		if i == m.choice.cursor.At() {
			row = m.theme.Selected.Render(frame.Pad(row, width))
		}
		out = append(out, ansi.Truncate(row, width, "…"))
	}
	return out
}

// pane returns the selected snapshot in full.
func (m *Model) pane(width, height int) []string {
	s := m.current()
	if s == nil || m.choice.open || s.Created.IsZero() {
		return frame.Fill(nil, height)
	}
	lines := []string{m.theme.Title.Render(ansi.Truncate(titleOf(s), width, "…"))}
	fact := func(name, text string) {
		if text == "" {
			return
		}
		for _, line := range frame.Wrap(text, max(1, width-factWidth)) {
			lines = append(lines, m.theme.Faint.Render(frame.Pad(name, factWidth))+line)
			name = ""
		}
	}
	fact("taken", s.Created.Local().Format(time.DateTime)+" of "+termtext.Escape(string(s.Sandbox)))
	fact("template", template(s))
	memory := ""
	if s.Spec.Memory > 0 {
		memory = "up to " + amount.Bytes(s.Spec.Memory.Bytes())
	}
	fact("memory", memory)
	fact("network", termtext.Escape(s.Spec.Network))
	fact("stored", stored(s))
	fact("processes", commands(s))
	return frame.Fill(lines, height)
}

// titleOf names a snapshot.
func titleOf(s *snapshot.Snapshot) string {
	if s.Name == "" {
		return termtext.Escape(s.ID)
	}
	return termtext.Escape(s.ID + " " + s.Name)
}

// stored lists the stored files with their sizes.
func stored(s *snapshot.Snapshot) string {
	var parts []string
	for _, f := range s.Files {
		parts = append(parts, termtext.Escape(f.Name)+" "+amount.Bytes(f.Size))
	}
	return strings.Join(parts, ", ")
}

// commands lists the processes that continue.
func commands(s *snapshot.Snapshot) string {
	if len(s.Processes) == 0 {
		return "none that aibox started"
	}
	var parts []string
	for i := range s.Processes {
		parts = append(parts, termtext.Escape(shellquote.Join(s.Processes[i].Request.Argv)))
	}
	return strings.Join(parts, " · ")
}
