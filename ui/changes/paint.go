package changes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/ui/widget/cursor"

	"github.com/charmbracelet/x/ansi"
)

// painter paints the rows of one file's diff.
type painter struct {
	m     *Model
	f     *file
	width int
	here  int // the hunk a person is at
}

// barWidth is the columns before a row, which say where the person is.
const barWidth = 2

// row is row i.
func (p painter) row(i int) string {
	m, k := p.m, &p.m.inks
	r := p.f.layout.row(i)
	bar := "  "
	switch {
	case i == m.row && !m.inTree:
		bar = k.here.paint(cursor.Mark + " ")
	case r.hunk >= 0 && int(r.hunk) == p.here && !r.gap:
		bar = k.here.paint("▌ ")
	}
	width := p.width - barWidth
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
	case gapRow:
		text := "⋯ " + amount.Of(int(r.left), "line")
		if i == m.row {
			text += " · e shows more, E all"
		}
		return bar + k.number.paint(ansi.Truncate(text, width, "…"))
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
	largest := max(last.OldStart+last.OldLines, last.NewStart+last.NewLines, p.f.total, p.f.total+p.f.change.Added-p.f.change.Deleted)
	return max(3, len(fmt.Sprint(largest))) + 1
}

// single is a line in the unified diff.
func (p painter) single(r row, width int) string {
	number := r.new
	op := p.f.line(r, r.left).Op
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
	half := (width - 1) / 2
	digits := p.numberWidth(width)
	blank := func(width int) string { return strings.Repeat(" ", width) }
	left, right := blank(half), blank(width-1-half)
	same := r.same || r.left == r.right
	if r.left >= 0 {
		op, other := p.f.line(r, r.left).Op, r.right
		if same {
			op, other = ' ', -1
		}
		left = p.side(r, r.left, other, op, r.old, digits, half, true)
	}
	if r.right >= 0 {
		op, other := p.f.line(r, r.right).Op, r.left
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
	shown := p.f.line(r, at)
	seen := shown.Text[:min(len(shown.Text), (p.m.column+width)*utf8.UTFMax)]
	l := line{text: shown.Text, classes: p.m.colors.spans(p.f, r, int(at)), hits: p.m.search.hitsIn(seen)}
	l.ink, l.changed = k.ofLine(op)
	if other >= 0 {
		l.differs = differing(shown, p.f.line(r, other))
	}
	gutter := ""
	if digits > 0 {
		gutter = k.number.paint(fmt.Sprintf("%*d ", digits-1, number))
	}
	end := ""
	if shown.NoNewline {
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
	case open:
		if p.f.hunkDone(h, m.target) {
			mark = "[= accepted before]"
		}
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
	case review.HunkFolder:
		return c.Folded()
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
