package changes

import "aibox/review"

// gap is lines that stand in no hunk: between two, before the first or behind the last.
// They are the same in both versions of the file.
type gap struct {
	after    int // the hunk before it; -1 is none
	old, new int // how many lines of each version stand before it
	n        int // its lines
	shown
}

// shown is what is shown of a gap: lines at its beginning and at its end.
type shown struct{ head, tail []review.Line }

// gaps are the gaps of the file, in order. Only files with lines that were changed
// have some, and only while they are held.
func (f *file) gaps() []gap {
	if !f.loaded {
		return nil
	}
	var all []gap
	g := gap{after: -1}
	text := false
	add := func(to int) {
		if g.n = to - g.old; g.n > 0 { // parts of a hunk share what stands between them
			g.shown = f.shown[g.old]
			all = append(all, g)
		}
	}
	for i := range f.hunks {
		g.after = i - 1
		if h := &f.hunks[i]; h.Kind == review.HunkText {
			before := above(h.OldStart, h.OldLines)
			add(before)
			text = true
			g.old, g.new = before+h.OldLines, above(h.NewStart, h.NewLines)+h.NewLines
		}
	}
	if g.after = len(f.hunks) - 1; text {
		add(f.total)
	}
	return all
}

// above is how many lines stand before n lines, of which git says where they start.
func above(start, n int) int {
	if n > 0 {
		return start - 1
	}
	return start
}

// hidden is how many lines of the gap are not shown.
func (g *gap) hidden() int { return g.n - len(g.head) - len(g.tail) }

// end is the lines that are shown before the next hunk.
func (g *gap) end() []review.Line {
	if len(g.tail) == 0 && g.hidden() == 0 {
		return g.head
	}
	return g.tail
}

// hunks are the lines that are shown as hunks would have them.
func (g *gap) hunks() []review.Hunk {
	below := g.n - len(g.tail)
	return []review.Hunk{
		{OldStart: g.old + 1, NewStart: g.new + 1, Lines: g.head},
		{OldStart: g.old + below + 1, NewStart: g.new + below + 1, Lines: g.tail},
	}
}

// has reports whether a line of the agent's version is shown.
func (g *gap) has(line int) bool {
	line -= g.new + 1
	return line >= 0 && line < len(g.head) || line >= g.n-len(g.tail) && line < g.n
}

// lay adds the rows of the gap.
func (g *gap) lay(l *layout, s style, said lineNotes) {
	if s.brief {
		g.shown = shown{}
	}
	w := layer{layout: l, style: s, at: row{hunk: int32(g.after), gap: true}, old: int32(g.old) + 1, new: int32(g.new) + 1, said: said}
	w.context(0, len(g.head))
	if n := int32(g.hidden()); n > 0 {
		l.put(row{kind: gapRow, gap: true, hunk: int32(g.after), left: n, right: -1, old: w.old, new: w.new}, 1)
		w.old, w.new = w.old+n, w.new+n
	}
	w.context(len(g.head), len(g.head)+len(g.tail))
}

// around are the lines of the hunks, and those that are shown around them, in order.
func (f *file) around() []review.Hunk {
	gaps := f.gaps()
	all := make([]review.Hunk, 0, len(f.hunks)+2*len(gaps))
	for i := -1; i < len(f.hunks); i++ {
		if i >= 0 {
			all = append(all, f.hunks[i])
		}
		if len(gaps) > 0 && gaps[0].after == i {
			all, gaps = append(all, gaps[0].hunks()...), gaps[1:]
		}
	}
	return all
}
