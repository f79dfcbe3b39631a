package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// Rows of the screen that are not the body: the title and its rule; what accepting
// would do, and the note.
const (
	headRows = frame.HeadRows
	footRows = 2
	noteRows = 3 // a note has at most, with what it covers
)

func (m *Model) bodyHeight() int { return max(1, m.height-headRows-footRows) }

// listWidth is the columns of the tree: fewer beside two versions.
func (m *Model) listWidth() int {
	if m.styled().split {
		return max(18, min(36, m.width/5))
	}
	return max(14, min(44, m.width*3/10))
}

// View is the screen.
func (m *Model) View() string {
	lines := m.head()
	switch {
	case m.conflict != nil:
		lines = append(lines, m.conflict.view(m, m.width, m.bodyHeight())...)
	case m.check != nil && m.check.shown():
		lines = append(lines, m.check.view(m, m.width, m.bodyHeight())...)
	default:
		lines = append(lines, m.body()...)
	}
	foot := m.foot() // a long note lies over the end of the body
	lines = append(lines[:max(0, min(len(lines), m.height-len(foot)))], foot...)
	view := strings.Join(frame.Fill(lines, m.height), "\n")
	box := ""
	switch {
	case m.ask != nil:
		box = m.ask.View(m.theme, m.width)
	case m.deliver != nil:
		box = m.deliverView()
	case m.remark != nil:
		box = m.remarkView()
	case m.check != nil && m.check.asks():
		box = m.check.question(m)
	default:
		return view
	}
	return dialog.Over(view, box, m.width, m.height)
}

func (m *Model) head() []string {
	left := m.theme.Title.Render("Review " + string(m.session.ID))
	right := ""
	if m.set != nil {
		added, deleted := m.set.Totals()
		left += "  " + m.theme.Good.Render(fmt.Sprintf("+%d", added)) + " " + m.theme.Bad.Render(fmt.Sprintf("-%d", deleted))
		if open := m.session.OpenTools(); open != "" {
			left += "  " + m.theme.Warn.Render("way out was open: "+open)
		}
		switch v := m.verified; {
		case m.check != nil && m.check.running:
			right = m.theme.Live.Render("verifying…")
		case v != nil && v.Passed():
			right = m.theme.Good.Render("✓ verified: " + termtext.Escape(v.Command))
		case v != nil:
			right = m.theme.Bad.Render("✗ not verified: " + termtext.Escape(v.Command))
		}
	}
	return frame.Head(m.theme, m.width, left, ansi.Truncate(right, max(0, m.width-40), "…"))
}

// foot is what accepting would do, and what was said last.
func (m *Model) foot() []string {
	summary := ""
	if m.set != nil {
		summary = ansi.Truncate(m.summary(), m.width, "…")
	}
	said := m.note.Lines(m.theme, m.width, noteRows)
	switch text := m.search.view(m); {
	case m.busy != "":
		said = []string{m.theme.Faint.Render(ansi.Truncate(m.busy, m.width, "…"))}
	case m.note.Text() == "" && text != "":
		said = []string{ansi.Truncate(text, m.width, "…")}
	case m.note.Text() == "":
		said = []string{m.theme.Faint.Render(ansi.Truncate(m.shownAs(), m.width, "…"))}
	}
	return append([]string{summary}, said...)
}

// shownAs says what is not shown of the file as it is.
func (m *Model) shownAs() string {
	f := m.file()
	if f == nil {
		return ""
	}
	var parts []string
	switch {
	case m.style.blank && m.aligning:
		parts = append(parts, "comparing lines without their blanks…")
	case m.style.blank:
		parts = append(parts, "blanks do not count: "+amount.Of(f.layout.blank, "line")+" (w)")
	}
	if m.style.brief {
		parts = append(parts, "changed lines alone (o)")
	}
	if m.column > 0 {
		parts = append(parts, fmt.Sprintf("from column %d", m.column+1))
	}
	return strings.Join(parts, " · ")
}

// body is the tree and the diff, side by side.
func (m *Model) body() []string {
	width, height := m.listWidth(), m.bodyHeight()
	return frame.Panes(m.theme, m.list(width, height), m.diff(m.diffWidth(), height), width)
}

// diffWidth is the columns of the diff.
func (m *Model) diffWidth() int { return m.width - m.listWidth() - frame.PaneGap }

// list is the window of the tree.
func (m *Model) list(width, height int) []string {
	out := make([]string, 0, height)
	from, to := m.tree.Window()
	for i := from; i < to; i++ {
		out = append(out, m.entryLine(i, width))
	}
	return frame.Fill(out, height)
}

// entryLine is a line of the tree.
func (m *Model) entryLine(i, width int) string {
	e := m.entries[i]
	here := e.file && e.from == m.at
	if m.inTree {
		here = i == m.tree.At()
	}
	indent := strings.Repeat(" ", min(e.depth, 8))
	mark := m.marked.of(e.from, e.to)
	style := m.painted(mark)
	var text string
	switch {
	case e.file:
		text = indent + m.files[e.from].change.Kind.Letter() + " " + e.name
	case e.folder == "":
		style = m.theme.Title
		if e.name == riskyHeading {
			style = m.theme.Warn.Bold(true)
		}
		return style.Render(ansi.Truncate(cursor.Here(here)+e.name, width, "…"))
	default:
		style = m.theme.Title
		text = indent + e.name
		if m.foldedDirs[e.folder] {
			text += " … " + amount.Of(e.to-e.from, "file")
		}
	}
	text = ansi.Truncate(cursor.Here(here)+mark.sign()+" "+text, width, "…")
	if here {
		return m.theme.Selected.Render(text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))))
	}
	return style.Render(text)
}

// diff is the window of the file's diff, of exactly height lines.
func (m *Model) diff(width, height int) []string {
	f := m.file()
	if f == nil {
		return make([]string, height)
	}
	out := make([]string, 0, height)
	p := painter{m: m, f: f, width: width, here: m.hunkAt()}
	for i := m.rowTop; i < f.layout.n && len(out) < height; i++ {
		out = append(out, p.row(i))
	}
	switch {
	case len(out) >= height:
	case f.err != nil:
		out = append(out, m.theme.Bad.Render(ansi.Truncate(termtext.Escape(f.err.Error()), width, "…")))
	case !f.loaded:
		out = append(out, m.theme.Faint.Render("reading…"))
	}
	return frame.Fill(out, height)
}
