package changes

import (
	"aibox/review"
	"aibox/ui/syntax"
)

// Lines are colored by blocks, so that a window at the end of a long hunk needs no
// look at its beginning: a block is read from the one before it on.
const (
	block      = 128       // lines
	maxBlocks  = 32        // kept
	maxLeading = 256 << 10 // bytes that are read before a block
)

// colors are the parts of the lines of one file, of the blocks that were shown last.
type colors struct {
	of      *file
	version int // of the file
	blocks  map[place][][]syntax.Span
}

// place is a block of lines.
type place struct {
	gap, tail bool // of the gap behind the hunk; of its end
	hunk      int32
	block     int
}

// spans are the parts of a line of a row.
func (c *colors) spans(f *file, r row, line int) []syntax.Span {
	if f.language == nil {
		return nil
	}
	if c.of != f || c.version != f.version || len(c.blocks) > maxBlocks {
		*c = colors{f, f.version, map[place][][]syntax.Span{}}
	}
	t := f.text(r, line)
	key := place{r.gap, t.tail, r.hunk, t.at / block}
	spans, ok := c.blocks[key]
	if !ok {
		spans = f.color(t, t.at/block*block)
		c.blocks[key] = spans
	}
	return spans[t.at%block]
}

// text is a line among those that follow each other, and the ones before them.
type text struct {
	lines, before []review.Line
	tail          bool
	at            int
}

// text is where a line of a row stands.
func (f *file) text(r row, line int) text {
	if !r.gap {
		t := text{lines: f.hunks[r.hunk].Lines, at: line}
		if g := f.layout.behind(int(r.hunk) - 1); g != nil {
			t.before = g.end()
		}
		return t
	}
	g := f.layout.behind(int(r.hunk))
	if line < len(g.head) {
		t := text{lines: g.head, at: line}
		if r.hunk >= 0 {
			t.before = f.hunks[r.hunk].Lines
		}
		return t
	}
	t := text{lines: g.tail, tail: true, at: line - len(g.head)}
	if g.hidden() == 0 {
		t.before = g.head
	}
	return t
}

// line is a line of a row.
func (f *file) line(r row, line int32) review.Line {
	t := f.text(r, int(line))
	return t.lines[t.at]
}

// color reads the block that begins at a line, from the block before it on.
func (f *file) color(t text, from int) [][]syntax.Span {
	to := min(len(t.lines), from+block)
	start, before, read := from, len(t.before), 0
	for ; start > 0 && start > from-block && read < maxLeading; start-- {
		read += len(t.lines[start-1].Text)
	}
	for n := from; start == 0 && before > 0 && n < block && read < maxLeading; n++ {
		before--
		read += len(t.before[before].Text)
	}
	r := reader{language: f.language}
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

// reader reads lines one behind the other. The old lines and the new ones are two
// texts: what the one is within says nothing about the other.
type reader struct {
	language   *syntax.Language
	old, fresh syntax.State
	spare      []syntax.Span
}

// line adds the parts of a line to into.
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
