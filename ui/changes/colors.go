package changes

import "aibox/ui/syntax"

// Lines are colored by blocks, so that a window at the end of a long hunk needs no
// look at its beginning: a block is read from the one before it on.
const (
	block      = 128       // lines
	maxBlocks  = 32        // kept
	maxLeading = 256 << 10 // bytes that are read before a block
)

// colors are the parts of the lines of one file, of the blocks that were shown last.
type colors struct {
	of     *layoutKey
	blocks map[[2]int][][]syntax.Span // by hunk and block
}

// layoutKey tells one file's hunks, as they are divided, from all others.
type layoutKey struct {
	file  *file
	hunks int
}

// spans are the parts of a line of a hunk.
func (c *colors) spans(f *file, hunk, line int) []syntax.Span {
	if f.language == nil {
		return nil
	}
	if c.of == nil || c.of.file != f || c.of.hunks != len(f.hunks) || len(c.blocks) > maxBlocks {
		c.of, c.blocks = &layoutKey{f, len(f.hunks)}, map[[2]int][][]syntax.Span{}
	}
	key := [2]int{hunk, line / block}
	spans, ok := c.blocks[key]
	if !ok {
		spans = f.color(hunk, line/block*block)
		c.blocks[key] = spans
	}
	return spans[line%block]
}

// color reads the block that begins at a line. The old lines and the new ones are two
// texts: what the one is within says nothing about the other.
func (f *file) color(hunk, from int) [][]syntax.Span {
	lines := f.hunks[hunk].Lines
	to := min(len(lines), from+block)
	start := from
	for read := 0; start > 0 && start > from-block && read < maxLeading; start-- {
		read += len(lines[start-1].Text)
	}
	out := make([][]syntax.Span, 0, to-from)
	var old, fresh syntax.State
	var spare []syntax.Span
	for i := start; i < to; i++ {
		into := spare[:0]
		if i >= from {
			into = nil
		}
		switch lines[i].Op {
		case '-':
			into, old = f.language.Line(lines[i].Text, old, into)
		case '+':
			into, fresh = f.language.Line(lines[i].Text, fresh, into)
		default:
			if old == fresh {
				into, fresh = f.language.Line(lines[i].Text, fresh, into)
				old = fresh
				break
			}
			spare, old = f.language.Line(lines[i].Text, old, spare[:0])
			into, fresh = f.language.Line(lines[i].Text, fresh, into)
		}
		if i >= from {
			out = append(out, into)
		} else {
			spare = into
		}
	}
	return out
}
