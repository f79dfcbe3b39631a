package diff

import (
	"aibox/review"
)

// gap is a range of unchanged lines outside the hunks: between two hunks, before the first or after
// the last.
type gap struct {
	after    int // index of the hunk before it, or -1
	old, new int // how many lines of each version precede it
	n        int // its lines
	expanded
}

// expanded is the part of a gap that is shown: lines at its start and at its end.
type expanded struct{ head, tail []review.Line }

// gaps returns the gaps of the file, in order. Only a loaded file with changed lines has
// gaps.
func (f *File) gaps() []gap {
	if !f.Loaded() {
		return nil
	}
	var all []gap
	g := gap{after: -1}
	text := false
	add := func(to int) {
		if g.n = to - g.old; g.n > 0 { // the parts of a hunk share the lines between them
			g.expanded = f.expanded[g.old]
			all = append(all, g)
		}
	}
	hunks := f.Hunks()
	for i := range hunks {
		g.after = i - 1
		if h := &hunks[i]; h.Kind == review.HunkText {
			before := linesBefore(h.OldStart, h.OldLines)
			add(before)
			text = true
			g.old, g.new = before+h.OldLines, linesBefore(h.NewStart, h.NewLines)+h.NewLines
		}
	}
	if g.after = len(hunks) - 1; text {
		add(f.oldLines)
	}
	return all
}

// linesBefore returns the number of lines before a range of n lines. start is the start of the
// range as git counts it.
func linesBefore(start, n int) int {
	if n > 0 {
		return start - 1
	}
	return start
}

// hidden returns how many lines of the gap are not shown.
func (g *gap) hidden() int { return g.n - len(g.head) - len(g.tail) }

// shownLast returns the lines shown right before the next hunk.
func (g *gap) shownLast() []review.Line {
	if len(g.tail) == 0 && g.hidden() == 0 {
		return g.head
	}
	return g.tail
}

// hunks returns the shown lines as hunks.
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

// layOut adds the rows of the gap.
func (g *gap) layOut(l *Layout, s style, notes lineNotes) {
	if s.brief {
		g.expanded = expanded{}
	}
	w := layoutBuilder{Layout: l, style: s, at: Row{Hunk: int32(g.after), Gap: true}, old: int32(g.old) + 1, new: int32(g.new) + 1, notes: notes}
	w.context(0, len(g.head))
	if n := int32(g.hidden()); n > 0 {
		l.put(Row{Kind: GapRow, Gap: true, Hunk: int32(g.after), left: n, right: -1, Old: w.old, New: w.new}, 1)
		w.old, w.new = w.old+n, w.new+n
	}
	w.context(len(g.head), len(g.head)+len(g.tail))
}

// ShownLines returns the lines of the hunks and those shown around them, in order.
func (f *File) ShownLines() []review.Hunk {
	gaps, hunks := f.gaps(), f.Hunks()
	all := make([]review.Hunk, 0, len(hunks)+2*len(gaps))
	for i := -1; i < len(hunks); i++ {
		if i >= 0 {
			all = append(all, hunks[i])
		}
		if len(gaps) > 0 && gaps[0].after == i {
			all, gaps = append(all, gaps[0].hunks()...), gaps[1:]
		}
	}
	return all
}
