package diff

import (
	"aibox/review"
)

// run is a run of changed lines of a hunk: the removed lines [from, added), then the added lines
// [added, to).
type run struct{ from, added, to int }

// runsOf returns the runs among lines.
func runsOf(lines []review.Line) []run {
	past := func(op byte, i int) int {
		for i < len(lines) && lines[i].Op == op {
			i++
		}
		return i
	}
	var all []run
	for i := past(' ', 0); i < len(lines); {
		r := run{from: i, added: past('-', i)}
		r.to = past('+', r.added)
		all = append(all, r)
		i = past(' ', r.to)
	}
	return all
}

// layoutBuilder adds the rows for the lines of one hunk or gap.
type layoutBuilder struct {
	*Layout
	style    style
	at       Row   // the hunk or gap that its rows belong to
	lines    int   // how many
	old, new int32 // the numbers of the next lines
	aligned  [][]pairs
	notes    lineNotes
}

// changed adds the rows of the changed lines and of those around them.
func (w *layoutBuilder) changed(all []run) {
	at := 0
	for i, r := range all {
		w.context(at, r.from)
		at = r.to
		p := pairUp(r.from, r.added, r.added, r.to)
		if w.style.Blank {
			p = w.aligned[i]
		}
		if w.style.split {
			w.sideBySide(p)
		} else {
			w.unified(p, r.added-r.from == r.to-r.added)
		}
	}
	w.context(at, w.lines)
}

// context adds unchanged lines, or one row with their number.
func (w *layoutBuilder) context(from, to int) {
	n := to - from
	switch {
	case n == 0:
	case w.style.brief:
		w.put(Row{Kind: foldRow, Hunk: w.at.Hunk, left: int32(n), right: -1}, 1)
	case w.style.split:
		w.numbered(Row{Kind: pairRow, left: int32(from), right: int32(from), Old: w.old, New: w.new}, n)
	default:
		w.numbered(Row{Kind: LineRow, left: int32(from), right: -1, Old: w.old, New: w.new}, n)
	}
	w.old, w.new = w.old+int32(n), w.new+int32(n)
}

// numbered adds n rows of lines, each with the notes on it below.
func (w *layoutBuilder) numbered(r Row, n int) {
	r.Hunk, r.Gap = w.at.Hunk, w.at.Gap
	s, from := section{first: r}, 0
	if r.New > 0 {
		for _, line := range w.notes.within(int(r.New), n) {
			end := line - int(r.New) + 1
			w.put(s.row(from), end-from)
			from = end
			for _, n := range w.notes.byLine[line] {
				w.note(w.at, n)
			}
		}
	}
	w.put(s.row(from), n-from)
}

// sideBySide adds old and new lines beside each other.
func (w *layoutBuilder) sideBySide(all []pairs) {
	for _, p := range all {
		r := Row{Kind: pairRow, same: p.same, left: int32(p.left), right: int32(p.right)}
		if p.left >= 0 {
			r.Old = w.old
			w.old += int32(p.n)
		}
		if p.right >= 0 {
			r.New = w.new
			w.new += int32(p.n)
		}
		if p.same {
			w.blank += p.n
		}
		w.numbered(r, p.n)
	}
}

// unified adds the removed lines, then the added ones. With versions, lines that are
// versions of each other refer to each other.
func (w *layoutBuilder) unified(all []pairs, versions bool) {
	for _, p := range all {
		if p.left < 0 {
			continue
		}
		if !p.same {
			r := Row{Kind: LineRow, left: int32(p.left), right: -1, Old: w.old}
			if versions {
				r.right = int32(p.right)
			}
			w.numbered(r, p.n)
		}
		w.old += int32(p.n)
	}
	for _, p := range all {
		if p.right < 0 {
			continue
		}
		r := Row{Kind: LineRow, same: p.same, left: int32(p.right), right: -1, New: w.new}
		if versions && !p.same {
			r.right = int32(p.left)
		}
		if p.same {
			w.blank += p.n
		}
		w.numbered(r, p.n)
		w.new += int32(p.n)
	}
}
