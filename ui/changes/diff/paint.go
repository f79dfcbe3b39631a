package diff

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// View returns the window of the current file's diff, of exactly height lines.
func (v *Pane) View() []string {
	f, width := v.File(), v.width()
	if f == nil {
		return make([]string, v.Height)
	}
	out := make([]string, 0, v.Height)
	v.facts.use(f)
	p := painter{Pane: v, f: f, columns: width - barWidth, inHunk: v.Hunk()}
	for i := v.Top; i < f.Layout.Rows && len(out) < v.Height; i++ {
		out = append(out, p.paint(i))
	}
	switch {
	case len(out) >= v.Height:
	case f.Err != nil:
		out = append(out, v.Theme.Bad.Render(ansi.Truncate(termtext.Escape(f.Err.Error()), width, "…")))
	case !f.Loaded():
		out = append(out, v.Theme.Faint.Render("reading…"))
	}
	return frame.Fill(out, v.Height)
}

// Status says how the view differs from the plain diff. aligning means that lines are
// still being compared.
func (v *Pane) Status(aligning bool) string {
	f := v.File()
	if f == nil {
		return ""
	}
	var parts []string
	switch {
	case v.Style.Blank && aligning:
		parts = append(parts, "comparing lines without whitespace…")
	case v.Style.Blank:
		parts = append(parts, "whitespace ignored: "+amount.Of(f.Layout.blank, "line")+" (w)")
	}
	if v.Style.brief {
		parts = append(parts, "changed lines only (o)")
	}
	if v.column > 0 {
		parts = append(parts, fmt.Sprintf("from column %d", v.column+1))
	}
	return strings.Join(parts, " · ")
}

// painter renders the rows of one file's diff.
type painter struct {
	*Pane
	f       *File
	columns int // of a row, after the bar
	inHunk  int // the hunk at the cursor
}

// barWidth is the columns before a row, which mark the cursor and its hunk.
const barWidth = 2

// paint renders row i.
func (p painter) paint(i int) string {
	k := &p.Styles
	r := p.f.Layout.row(i)
	bar := "  "
	switch {
	case i == p.Row && p.Focused:
		bar = k.cursor.Render(cursor.Mark + " ")
	case r.Hunk >= 0 && int(r.Hunk) == p.inHunk && !r.Gap:
		bar = k.cursor.Render("▌ ")
	}
	switch r.Kind {
	case noteRow:
		n := p.f.Layout.notes[r.left]
		return bar + k.tones[n.tone].Render(ansi.Truncate(n.text, p.columns, "…"))
	case HeadRow:
		return bar + p.head(int(r.Hunk))
	case foldRow:
		what := "unchanged"
		if p.f.folded[p.f.Hunks()[r.Hunk].ID] {
			what = "folded; z shows them"
		}
		return bar + k.number.Render(ansi.Truncate(fmt.Sprintf("⋯ %d lines %s", r.left, what), p.columns, "…"))
	case GapRow:
		text := "⋯ " + amount.Of(int(r.left), "line")
		if i == p.Row {
			text += " · e shows more, E all"
		}
		return bar + k.number.Render(ansi.Truncate(text, p.columns, "…"))
	case pairRow:
		return bar + p.pair(r)
	default:
		return bar + p.single(r)
	}
}

// numberWidth returns the columns of line numbers: none on a narrow screen.
func (p painter) numberWidth() int {
	hunks := p.f.Hunks()
	if p.columns < 45 || len(hunks) == 0 {
		return 0
	}
	last := &hunks[len(hunks)-1]
	largest := max(last.OldStart+last.OldLines, last.NewStart+last.NewLines, p.f.oldLines, p.f.oldLines+p.f.Change.Added-p.f.Change.Deleted)
	return max(3, len(fmt.Sprint(largest))) + 1
}

// single renders a line of the unified diff.
func (p painter) single(r Row) string {
	op, number, other := p.f.line(r, r.left).Op, r.New, r.right
	if op == '-' {
		number = r.Old
	}
	switch {
	case r.same:
		op, other = ' ', -1
	case op != ' ' && other < 0:
		other = p.facts.other(r.Hunk, r.left)
	}
	return p.side(r, r.left, other, op, number, p.columns, op != ' ')
}

// pair renders an old and a new line, side by side.
func (p painter) pair(r Row) string {
	width := p.columns
	half := (width - 1) / 2
	blank := func(width int) string { return strings.Repeat(" ", width) }
	left, right := blank(half), blank(width-1-half)
	same := r.same || r.left == r.right
	if r.left >= 0 {
		op, other := p.f.line(r, r.left).Op, r.right
		if same {
			op, other = ' ', -1
		}
		left = p.side(r, r.left, other, op, r.Old, half, true)
	}
	if r.right >= 0 {
		op, other := p.f.line(r, r.right).Op, r.left
		if same {
			op, other = ' ', -1
		}
		right = p.side(r, r.right, other, op, r.New, width-1-half, op != ' ')
	}
	return left + p.Styles.Rule.Render("│") + right
}

// side renders one version of a line: its number, its sign, its text from the shifted
// column on. other is the other version, or -1.
func (p painter) side(r Row, at, other int32, op byte, number int32, width int, fill bool) string {
	k, digits := &p.Styles, p.numberWidth()
	gutter := ""
	if digits > 0 {
		gutter = k.number.Render(fmt.Sprintf("%*d ", digits-1, number))
	}
	l := p.line(r, at, other, op, p.column+width)
	return gutter + l.Style.sign.Render(string(op)) + l.Window(k, p.column, max(0, width-digits-1), fill)
}

// line returns a line of a row, to be rendered with a sign up to a column.
func (p painter) line(r Row, at, other int32, op byte, upTo int) *Line {
	shown := p.f.line(r, at)
	l := &Line{Text: shown.Text, Style: p.Styles.of(op), classes: p.syntax.spans(p.f, r, int(at)), changed: op != ' '}
	l.hits = matchesIn(p.Match, l.Text[:min(len(l.Text), upTo*utf8.UTFMax)])
	if other >= 0 {
		l.differs = p.facts.differing(r.Hunk, at, other)
	}
	if shown.NoNewline {
		l.tail = noNewline
	}
	l.columns = p.facts.width(lineKey{r.Gap, r.Hunk, at, -1}, l)
	return l
}

// noNewline marks a last line without a newline.
const noNewline = " ⏎ no newline at end"

// matchesIn returns the parts of a text that match, at most 50.
func matchesIn(match *regexp.Regexp, text []byte) []span {
	if match == nil {
		return nil
	}
	var out []span
	for _, at := range match.FindAllIndex(text[:min(len(text), MaxShown)], 50) {
		out = append(out, span{From: at[0], To: at[1]})
	}
	return out
}

// head renders the heading of a hunk: what was decided, and what the hunk does.
func (p painter) head(i int) string {
	hunks := p.f.Hunks()
	h := &hunks[i]
	mark, style := "[ ]", p.Theme.Faint
	switch p.f.Of(h.ID) {
	case decision.Accepted:
		mark, style = "[✓ taken]", p.Theme.Good
	case decision.Rejected:
		mark, style = "[✗ rejected]", p.Theme.Bad
	default:
		if p.f.HunkDelivered(h, p.Draft.Target()) {
			mark = "[= accepted before]"
		}
	}
	text := p.about(h)
	if len(hunks) > 1 {
		text += fmt.Sprintf("  %d/%d", i+1, len(hunks))
	}
	return ansi.Truncate(style.Render(mark)+" "+p.Theme.Live.Render(text), p.columns, "…")
}

// about describes what a hunk does.
func (p painter) about(h *review.Hunk) string {
	switch h.Kind {
	case review.HunkAdded, review.HunkDeleted, review.HunkContent:
		return h.Describe(p.f.Change) + p.unshown(h)
	default:
		return h.Describe(p.f.Change)
	}
}

// unshown explains why a file has no lines to show.
func (p painter) unshown(h *review.Hunk) string {
	c := p.f.Change
	switch {
	case len(h.Lines) > 0 || !p.f.Loaded() || c.Size == 0 && !c.Binary:
		return ""
	case c.Binary:
		return fmt.Sprintf(": binary, %d bytes", c.Size)
	default:
		return fmt.Sprintf(": %d lines added and %d deleted are too many to show", c.Added, c.Deleted)
	}
}
