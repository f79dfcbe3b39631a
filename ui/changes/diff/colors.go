package diff

import (
	"aibox/review"
	"aibox/ui/syntax"
)

// Lines are highlighted in blocks, so that a window at the end of a long hunk does not
// need its beginning: reading starts one block earlier.
const (
	block      = 128       // lines
	maxBlocks  = 32        // kept
	maxLeading = 256 << 10 // bytes that are read ahead of a block
)

// highlighter caches the syntax of one file's lines, for the blocks shown last.
type highlighter struct {
	file     *File
	revision int // of the file
	blocks   map[blockKey][][]syntax.Span
}

// blockKey identifies a block of lines.
type blockKey struct {
	gap, tail bool // in the gap after the hunk; at its end
	hunk      int32
	block     int
}

// spans returns the syntax of a line of a row.
func (c *highlighter) spans(f *File, r Row, line int) []syntax.Span {
	if f.Language == nil {
		return nil
	}
	if c.file != f || c.revision != f.Revision || len(c.blocks) > maxBlocks {
		*c = highlighter{f, f.Revision, map[blockKey][][]syntax.Span{}}
	}
	t := f.excerpt(r, line)
	key := blockKey{r.Gap, t.tail, r.Hunk, t.at / block}
	spans, ok := c.blocks[key]
	if !ok {
		spans = f.highlight(t, t.at/block*block)
		c.blocks[key] = spans
	}
	return spans[t.at%block]
}

// excerpt is a line among consecutive lines, with the lines shown before them.
type excerpt struct {
	lines, before []review.Line
	tail          bool
	at            int
}

// excerpt returns the lines around a line of a row.
func (f *File) excerpt(r Row, line int) excerpt {
	if !r.Gap {
		t := excerpt{lines: f.Hunks()[r.Hunk].Lines, at: line}
		if g := f.Layout.gapAfter(int(r.Hunk) - 1); g != nil {
			t.before = g.shownLast()
		}
		return t
	}
	g := f.Layout.gapAfter(int(r.Hunk))
	if line < len(g.head) {
		t := excerpt{lines: g.head, at: line}
		if r.Hunk >= 0 {
			t.before = f.Hunks()[r.Hunk].Lines
		}
		return t
	}
	t := excerpt{lines: g.tail, tail: true, at: line - len(g.head)}
	if g.hidden() == 0 {
		t.before = g.head
	}
	return t
}

// line returns a line of a row.
func (f *File) line(r Row, line int32) review.Line {
	t := f.excerpt(r, int(line))
	return t.lines[t.at]
}

// highlight returns the syntax of the block that starts at a line.
func (f *File) highlight(t excerpt, from int) [][]syntax.Span {
	to := min(len(t.lines), from+block)
	start, before, read := from, len(t.before), 0
	for ; start > 0 && start > from-block && read < maxLeading; start-- {
		read += len(t.lines[start-1].Text)
	}
	for n := from; start == 0 && before > 0 && n < block && read < maxLeading; n++ {
		before--
		read += len(t.before[before].Text)
	}
	r := reader{language: f.Language}
	for _, lines := range [][]review.Line{t.before[before:], t.lines[start:from]} {
		for _, line := range lines {
			r.spare = r.line(line, r.spare[:0])
		}
	}
	out := make([][]syntax.Span, 0, to-from)
	for _, line := range t.lines[from:to] {
		out = append(out, r.line(line, nil))
	}
	return out
}

// reader reads consecutive lines. The old and the new lines are separate texts, each
// with its own state.
type reader struct {
	language   *syntax.Language
	old, fresh syntax.State
	spare      []syntax.Span
}

// line appends the syntax of a line to into.
func (r *reader) line(l review.Line, into []syntax.Span) []syntax.Span {
	switch {
	case l.Op == '-':
		into, r.old = r.language.Line(l.Text, r.old, into)
	case l.Op == '+' || r.old == r.fresh:
		same := l.Op != '+'
		into, r.fresh = r.language.Line(l.Text, r.fresh, into)
		if same {
			r.old = r.fresh
		}
	default:
		_, r.old = r.language.Line(l.Text, r.old, nil)
		into, r.fresh = r.language.Line(l.Text, r.fresh, into)
	}
	return into
}
