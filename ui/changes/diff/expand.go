package diff

import (
	"slices"

	"aibox/review"
)

// ExpandStep is how many lines of a gap a key shows.
const ExpandStep = 10

// gapRange is lines of a gap to show, at its start or at its end.
type gapRange struct {
	gap int // how many old lines precede the gap
	end bool
	review.Span
}

// gapsAt returns the gaps that a key at a row affects: the gap of the row, or the gaps around its
// hunk.
func (f *File) gapsAt(at Row) []gap {
	return slices.DeleteFunc(f.gaps(), func(g gap) bool {
		return int32(g.after) != at.Hunk && (at.Gap || int32(g.after) != at.Hunk-1)
	})
}

// HiddenAt returns the hidden lines that a key at a row would show, in order: both ends of a gap,
// or the lines next to a hunk. Lines before the first hunk are shown from their end on, lines after
// the last one from their start on. all asks for every line.
func (f *File) HiddenAt(at Row, all bool) []gapRange {
	var asked []gapRange
	for _, g := range f.gapsAt(at) {
		first, last := g.old == 0, g.old+g.n == f.oldLines
		start := !first && (at.Gap || int32(g.after) == at.Hunk)
		end := first || !last && (at.Gap || int32(g.after) < at.Hunk)
		from, to := g.old+len(g.head), g.old+g.n-len(g.tail)
		n := ExpandStep
		if to-from == ExpandStep+1 {
			n++ // one hidden line would take a row as well
		}
		if all {
			start, end, n = true, false, to-from
		}
		if start && from < to {
			next := min(from+n, to)
			asked = append(asked, gapRange{g.old, false, review.Span{From: from, To: next}})
			from = next
		}
		if end && from < to {
			asked = append(asked, gapRange{g.old, true, review.Span{From: max(to-n, from), To: to}})
		}
	}
	return asked
}

// expand shows more lines of a gap. It ignores lines that are no longer next to shown
// ones.
func (f *File) expand(r gapRange, lines []review.Line) {
	gaps := f.gaps()
	i := slices.IndexFunc(gaps, func(g gap) bool { return g.old == r.gap })
	if i < 0 {
		return
	}
	g := gaps[i]
	from, to := g.old+len(g.head), g.old+g.n-len(g.tail)
	switch {
	case !r.end && r.From == from && r.To <= to && len(g.head) == 0:
		g.head = lines // not copied: they may be many
	case !r.end && r.From == from && r.To <= to:
		g.head = slices.Concat(g.head, lines)
	case r.end && r.To == to && r.From >= from && len(lines) == r.To-r.From:
		g.tail = slices.Concat(lines, g.tail)
	default:
		return
	}
	if f.expanded == nil {
		f.expanded = map[int]expanded{}
	}
	f.expanded[g.old] = g.expanded
	f.ExpandedBytes += weight(lines)
	f.gapsChanged()
}

// gapsChanged records that the lines shown around the hunks have changed.
func (f *File) gapsChanged() {
	f.Revision++
	f.Layout.comments = -1
}

// weight returns roughly how many bytes lines take.
func weight(lines []review.Line) int {
	n := 0
	for i := range lines {
		n += 48 + len(lines[i].Text)
	}
	return n
}

// collapseAt hides the lines shown of the gaps at a row, and reports whether there were
// any.
func (f *File) collapseAt(at Row) bool {
	some := false
	for _, g := range f.gapsAt(at) {
		if _, ok := f.expanded[g.old]; ok {
			delete(f.expanded, g.old)
			f.ExpandedBytes -= weight(g.head) + weight(g.tail)
			some = true
		}
	}
	if some {
		f.gapsChanged()
	}
	return some
}

// collapseGaps hides all lines around the hunks.
func (f *File) collapseGaps() { f.expanded, f.ExpandedBytes, f.Layout = nil, 0, Layout{} }
