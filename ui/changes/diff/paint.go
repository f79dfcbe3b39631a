package diff

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
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
	p := v.painter()
	for i := v.Top; i < f.Layout.Rows && len(out) < v.Height; i++ {
		out = append(out, p.paint(i)...)
	}
	out = out[:min(len(out), v.Height)]
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
	switch {
	case v.unwrapped && v.column > 0:
		parts = append(parts, fmt.Sprintf("long lines cut, from column %d (W)", v.column+1))
	case v.unwrapped:
		parts = append(parts, "long lines cut (W)")
	}
	return strings.Join(parts, " · ")
}

// painter renders the rows of one file's diff.
type painter struct {
	*Pane
	f       *File
	columns int // of a row, after the bar
	digits  int // columns of line numbers
	inHunk  int // the hunk at the cursor
}

// painter returns the painter of the current file, which must exist.
func (v *Pane) painter() painter {
	f := v.File()
	v.facts.use(f)
	p := painter{Pane: v, f: f, columns: v.width() - barWidth, inHunk: v.Hunk()}
	p.digits = p.numberWidth()
	return p
}

// barWidth is the columns before a row, which mark the cursor and its hunk.
const barWidth = 2

// paint renders row i, in as many lines as it takes.
func (p painter) paint(i int) []string {
	r := p.f.Layout.row(i)
	first, bar := p.bar(i, r)
	var lines []string
	switch r.Kind {
	case LineRow:
		lines = p.single(r)
	case pairRow:
		lines = p.pair(r)
	default:
		lines = []string{p.other(r, i == p.Row)}
	}
	for j := range lines {
		lines[j] = first + lines[j]
		first = bar
	}
	return lines
}

// other renders a row that shows no line.
func (p painter) other(r Row, current bool) string {
	k := &p.Styles
	switch r.Kind {
	case noteRow:
		n := p.f.Layout.notes[r.left]
		text := ansi.Truncate(n.text, p.columns, "…")
		if n.tone == titleTone {
			return p.title(text)
		}
		return k.tones[n.tone].Render(text)
	case foldRow:
		what := "unchanged"
		if p.f.folded[p.f.Hunks()[r.Hunk].ID] {
			what = "folded; z shows them"
		}
		return k.number.Render(ansi.Truncate(fmt.Sprintf("⋯ %d lines %s", r.left, what), p.columns, "…"))
	case GapRow:
		text := "⋯ " + amount.Of(int(r.left), "line")
		if current {
			text += " · e shows more, E all"
		}
		return k.number.Render(ansi.Truncate(text, p.columns, "…"))
	default:
		return p.head(int(r.Hunk))
	}
}

// title renders the title of the file, and marks matches of the search.
func (p painter) title(text string) string {
	out, at, style := "", 0, p.Styles.tones[titleTone]
	for _, hit := range matchesIn(p.Match, []byte(text)) {
		out += style.Render(text[at:hit.From]) + p.Styles.Hit.Render(text[hit.From:hit.To])
		at = hit.To
	}
	return out + style.Render(text[at:])
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

// side is one version of a line, to be rendered: its number, its sign, its text.
type side struct {
	line   int32 // of the row's hunk or gap; -1 is none
	other  int32 // the other version; -1 is none
	op     byte
	number int32
	width  int
	fill   bool
}

// single renders a line of the unified diff.
func (p painter) single(r Row) []string {
	s := side{line: r.left, other: r.right, op: p.f.line(r, r.left).Op, number: r.New, width: p.columns}
	if s.op == '-' {
		s.number = r.Old
	}
	switch {
	case r.same:
		s.op, s.other = ' ', -1
	case s.op != ' ' && s.other < 0:
		s.other = p.facts.other(r.Hunk, r.left)
	}
	s.fill = s.op != ' '
	return p.side(r, s, p.height(r))
}

// pair renders an old and a new line, side by side.
func (p painter) pair(r Row) []string {
	half := p.half()
	left := side{line: r.left, other: r.right, op: ' ', number: r.Old, width: half, fill: true}
	right := side{line: r.right, other: r.left, op: ' ', number: r.New, width: p.columns - 1 - half}
	for _, s := range []*side{&left, &right} {
		switch {
		case s.line < 0:
		case r.same || r.left == r.right:
			s.other = -1
		default:
			s.op = p.f.line(r, s.line).Op
			s.fill = true
		}
	}
	n := p.height(r)
	lines, others := p.side(r, left, n), p.side(r, right, n)
	for i := range lines {
		lines[i] += p.Styles.Rule.Render("│") + others[i]
	}
	return lines
}

// half returns the columns of an old line beside a new one.
func (p painter) half() int { return (p.columns - 1) / 2 }

// room returns the columns for the text of a line that has width columns.
func (p painter) room(width int) int { return max(0, width-p.digits-1) }

// side renders a side in n lines.
func (p painter) side(r Row, s side, n int) []string {
	k, out, blank := &p.Styles, make([]string, n), strings.Repeat(" ", s.width)
	if s.line < 0 {
		for i := range out {
			out[i] = blank
		}
		return out
	}
	number, next := "", ""
	if p.digits > 0 {
		number, next = k.number.Render(fmt.Sprintf("%*d ", p.digits-1, s.number)), strings.Repeat(" ", p.digits)
	}
	room := p.room(s.width)
	starts := []int{p.column}
	if !p.unwrapped {
		starts = p.starts(r, s.line, room)
	}
	l := p.line(r, s, starts[len(starts)-1]+room)
	if p.unwrapped || len(starts) == p.maxHeight() {
		l.columns = p.facts.width(lineKey{r.Gap, r.Hunk, s.line, -1}, l)
	}
	for i := range out {
		switch {
		case i >= len(starts):
			out[i] = blank
			continue
		case i == 0:
			out[i] = number + l.Style.sign.Render(string(s.op))
		default:
			out[i] = next + l.Style.sign.Render(wrapSign)
		}
		if i+1 < len(starts) {
			text, used, _ := l.cells(k, starts[i], starts[i+1])
			out[i] += text + l.Style.text.Render(strings.Repeat(" ", max(0, room-used)))
		} else {
			out[i] += l.Window(k, starts[i], room, s.fill)
		}
	}
	return out
}

// wrapSign replaces the sign where a line continues.
const wrapSign = "↳"

// line returns the line of a side, to be rendered up to a column.
func (p painter) line(r Row, s side, upTo int) *Line {
	l := p.bare(r, s.line)
	l.Style, l.classes, l.changed = p.Styles.of(s.op), p.syntax.spans(p.f, r, int(s.line)), s.op != ' '
	l.hits = matchesIn(p.Match, l.Text[:min(len(l.Text), upTo*utf8.UTFMax)])
	if s.other >= 0 {
		l.differs = p.facts.differing(r.Hunk, s.line, s.other)
	}
	return l
}

// bare returns a line of a row without its marks.
func (p painter) bare(r Row, line int32) *Line {
	shown := p.f.line(r, line)
	l := &Line{Text: shown.Text}
	if mode := p.f.Change.ModeOf(shown.Op); shown.NoNewline && mode != string(git.Symlink) {
		l.tail = noNewline
	}
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

// head renders the heading of a hunk: the decision, and what the hunk does.
func (p painter) head(i int) string {
	hunks := p.f.Hunks()
	h := &hunks[i]
	mark, style := "[ ]", p.Theme.Faint
	switch p.f.Of(h.ID) {
	case decision.Accepted:
		mark, style = "[✓ taken]", p.Theme.Good
	case decision.Partial:
		mark, style = fmt.Sprintf("[✓ %d of %d lines]", len(p.f.AcceptedLines(h)), len(h.Changed())), p.Theme.Good
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
