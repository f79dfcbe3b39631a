package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/ui/cursor"
	"aibox/ui/dialog"
	"aibox/ui/frame"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Rows of the screen that are not the body: the title and its rule; what accepting
// would do, and the note.
const (
	headRows = frame.HeadRows
	footRows = 2
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
	view := strings.Join(frame.Fill(append(lines, m.foot()...), m.height), "\n")
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
	said := m.note.View(m.theme, m.width)
	switch text := m.search.view(m); {
	case m.busy != "":
		said = m.theme.Faint.Render(ansi.Truncate(m.busy, m.width, "…"))
	case m.note.Text() == "" && text != "":
		said = ansi.Truncate(text, m.width, "…")
	case m.note.Text() == "":
		said = m.theme.Faint.Render(ansi.Truncate(m.shownAs(), m.width, "…"))
	}
	return []string{summary, said}
}

// shownAs says what is not shown of the file as it is.
func (m *Model) shownAs() string {
	f := m.file()
	if f == nil {
		return ""
	}
	var parts []string
	if m.style.blank {
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
	return frame.Panes(m.theme, m.list(width, height), m.diff(m.width-width-frame.PaneGap, height), width)
}

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
	mark, style := " ", m.theme.Title
	var text string
	switch {
	case e.file:
		f := m.files[e.from]
		mark, style = m.mark(f)
		text = indent + f.change.Kind.Letter() + " " + e.name
	case e.folder == "":
		if e.name == riskyHeading {
			style = m.theme.Warn.Bold(true)
		}
		return style.Render(ansi.Truncate(cursor.Here(here)+e.name, width, "…"))
	default:
		text = indent + e.name
		if m.foldedDirs[e.folder] {
			text += " … " + amount.Of(e.to-e.from, "file")
		}
	}
	text = ansi.Truncate(cursor.Here(here)+mark+" "+text, width, "…")
	if here {
		return m.theme.Selected.Render(text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))))
	}
	return style.Render(text)
}

// mark tells what was decided about a file.
func (m *Model) mark(f *file) (string, lipgloss.Style) {
	switch d, mixed := f.sum(); {
	case mixed:
		return "~", m.theme.Live
	case d == taken:
		return "✓", m.theme.Good
	case d == rejected:
		return "✗", m.theme.Bad
	default:
		return " ", m.theme.Plain
	}
}

// diff is the window of the file's diff, of exactly height lines.
func (m *Model) diff(width, height int) []string {
	f := m.file()
	if f == nil {
		return make([]string, height)
	}
	out := make([]string, 0, height)
	p := painter{m: m, f: f, width: width, here: m.hunkAt()}
	rows := f.layout.rows
	for i := m.rowTop; i < len(rows) && len(out) < height; i++ {
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

// painter paints the rows of one file's diff.
type painter struct {
	m     *Model
	f     *file
	width int
	here  int // the hunk a person is at
}

// row is row i.
func (p painter) row(i int) string {
	m, k := p.m, &p.m.inks
	r := p.f.layout.rows[i]
	bar := "  "
	switch {
	case i == m.row && !m.inTree:
		bar = k.here.paint(cursor.Mark + " ")
	case r.hunk >= 0 && int(r.hunk) == p.here:
		bar = k.here.paint("▌ ")
	}
	width := p.width - 2
	switch r.kind {
	case noteRow:
		n := p.f.layout.notes[r.left]
		return bar + k.tones[n.tone].paint(ansi.Truncate(n.text, width, "…"))
	case headRow:
		return bar + p.head(int(r.hunk), width)
	case foldRow:
		what := "unchanged"
		if p.f.folded[p.f.hunks[r.hunk].ID] {
			what = "folded; z shows them"
		}
		return bar + k.number.paint(ansi.Truncate(fmt.Sprintf("⋯ %d lines %s", r.left, what), width, "…"))
	case pairRow:
		return bar + p.pair(r, width)
	default:
		return bar + p.single(r, width)
	}
}

// numberWidth is the columns of line numbers; none where there is little room.
func (p painter) numberWidth(width int) int {
	if width < 45 || len(p.f.hunks) == 0 {
		return 0
	}
	last := &p.f.hunks[len(p.f.hunks)-1]
	return max(3, len(fmt.Sprint(max(last.OldStart+last.OldLines, last.NewStart+last.NewLines)))) + 1
}

// single is a line in the unified diff.
func (p painter) single(r row, width int) string {
	h := &p.f.hunks[r.hunk]
	number := r.new
	op := h.Lines[r.left].Op
	if op == '-' {
		number = r.old
	}
	if r.same {
		op = ' '
	}
	return p.side(r, r.left, r.right, op, number, p.numberWidth(width), width, false)
}

// pair is an old and a new line, side by side.
func (p painter) pair(r row, width int) string {
	h := &p.f.hunks[r.hunk]
	half := (width - 1) / 2
	digits := p.numberWidth(width)
	blank := func(width int) string { return strings.Repeat(" ", width) }
	left, right := blank(half), blank(width-1-half)
	same := r.same || r.left == r.right
	if r.left >= 0 {
		op, other := h.Lines[r.left].Op, r.right
		if same {
			op, other = ' ', -1
		}
		left = p.side(r, r.left, other, op, r.old, digits, half, true)
	}
	if r.right >= 0 {
		op, other := h.Lines[r.right].Op, r.left
		if same {
			op, other = ' ', -1
		}
		right = p.side(r, r.right, other, op, r.new, digits, width-1-half, true)
	}
	return left + p.m.inks.rule.paint("│") + right
}

// side is one version of a line: its number, its sign, its text from the column on
// that the person has shifted to.
func (p painter) side(r row, at, other int32, op byte, number int32, digits, width int, fill bool) string {
	k := &p.m.inks
	h := &p.f.hunks[r.hunk]
	l := line{text: h.Lines[at].Text, classes: p.m.colors.spans(p.f, int(r.hunk), int(at)), hits: p.m.search.hitsIn(h.Lines[at].Text)}
	l.ink, l.changed = k.ofLine(op)
	if other >= 0 {
		l.differs = differing(h.Lines[at], h.Lines[other])
	}
	gutter := ""
	if digits > 0 {
		gutter = k.number.paint(fmt.Sprintf("%*d ", digits-1, number))
	}
	end := ""
	if h.Lines[at].NoNewline {
		end = " ⏎ missing"
	}
	room := max(0, width-digits-1-ansi.StringWidth(end))
	return gutter + l.ink.paint(string(op)) + l.window(k, p.m.column, room, fill || end != "") + k.number.paint(end)
}

// differing is what differs in a line from another version of it.
func differing(l, other review.Line) span {
	old, fresh := l, other
	if l.Op == '+' {
		old, fresh = other, l
	}
	from, oldTo, freshTo := review.Differing(old.Text[:min(len(old.Text), maxShown)], fresh.Text[:min(len(fresh.Text), maxShown)])
	if l.Op == '+' {
		return span{from, freshTo}
	}
	return span{from, oldTo}
}

// head is the line above a hunk: what it is and what was decided.
func (p painter) head(i, width int) string {
	m, h := p.m, &p.f.hunks[i]
	mark, style := "[ ]", m.theme.Faint
	switch p.f.of(h.ID) {
	case taken:
		mark, style = "[✓ taken]", m.theme.Good
	case rejected:
		mark, style = "[✗ rejected]", m.theme.Bad
	}
	text := p.about(h)
	if len(p.f.hunks) > 1 {
		text += fmt.Sprintf("  %d/%d", i+1, len(p.f.hunks))
	}
	return ansi.Truncate(style.Render(mark)+" "+m.theme.Live.Render(text), width, "…")
}

// about says what a hunk does.
func (p painter) about(h *review.Hunk) string {
	c := p.f.change
	switch h.Kind {
	case review.HunkText:
		return strings.TrimRight(fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", h.OldStart, h.OldLines, h.NewStart, h.NewLines, termtext.Escape(h.Section)), " ")
	case review.HunkAdded:
		return "new file" + p.unshown(h)
	case review.HunkDeleted:
		return "the file is deleted" + p.unshown(h)
	case review.HunkType:
		return "a file becomes a symlink, or the reverse"
	case review.HunkMode:
		return fmt.Sprintf("mode %s → %s", c.OldMode, c.NewMode)
	case review.HunkRenamed:
		return "renamed from " + h.OldPath.String()
	default:
		return "new content" + p.unshown(h)
	}
}

// unshown says why a file has no lines to be looked at.
func (p painter) unshown(h *review.Hunk) string {
	c := p.f.change
	switch {
	case len(h.Lines) > 0 || !p.f.loaded || c.Size == 0 && !c.Binary:
		return ""
	case c.Binary:
		return fmt.Sprintf(": binary, %d bytes", c.Size)
	default:
		return fmt.Sprintf(": %d lines added and %d deleted are too many to show", c.Added, c.Deleted)
	}
}
