package changes

import "aibox/review"

// run is lines of a hunk that were changed, one behind the other: removed ones, then
// the added ones up to to.
type run struct{ from, added, to int }

// runsOf are the runs among lines.
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

// layer lays the lines of one hunk or gap.
type layer struct {
	*layout
	style    style
	at       row   // says where its rows belong
	lines    int   // how many
	old, new int32 // the numbers of the next lines
	aligned  [][]pairs
	said     lineNotes
}

// run lays the lines that were changed, and those around them.
func (w *layer) run(all []run) {
	at := 0
	for i, r := range all {
		w.context(at, r.from)
		at = r.to
		p := beside(r.from, r.added, r.added, r.to)
		if w.style.blank {
			p = w.aligned[i]
		}
		if w.style.split {
			w.sideBySide(p)
		} else {
			w.below(p, r.added-r.from == r.to-r.added)
		}
	}
	w.context(at, w.lines)
}

// context lays unchanged lines, or says how many there are.
func (w *layer) context(from, to int) {
	n := to - from
	switch {
	case n == 0:
	case w.style.brief:
		w.put(row{kind: foldRow, hunk: w.at.hunk, left: int32(n), right: -1}, 1)
	case w.style.split:
		w.numbered(row{kind: pairRow, left: int32(from), right: int32(from), old: w.old, new: w.new}, n)
	default:
		w.numbered(row{kind: lineRow, left: int32(from), right: -1, old: w.old, new: w.new}, n)
	}
	w.old, w.new = w.old+int32(n), w.new+int32(n)
}

// numbered adds n rows of lines, and below them what is said of them.
func (w *layer) numbered(r row, n int) {
	r.hunk, r.gap = w.at.hunk, w.at.gap
	s, from := section{first: r}, 0
	if r.new > 0 {
		for _, line := range w.said.within(int(r.new), n) {
			end := line - int(r.new) + 1
			w.put(s.row(from), end-from)
			from = end
			for _, n := range w.said.notes[line] {
				w.note(w.at, n)
			}
		}
	}
	w.put(s.row(from), n-from)
}

func (w *layer) sideBySide(all []pairs) {
	for _, p := range all {
		r := row{kind: pairRow, same: p.same, left: int32(p.left), right: int32(p.right)}
		if p.left >= 0 {
			r.old = w.old
			w.old += int32(p.n)
		}
		if p.right >= 0 {
			r.new = w.new
			w.new += int32(p.n)
		}
		if p.same {
			w.blank += p.n
		}
		w.numbered(r, p.n)
	}
}

// below lays first what was removed, then what was added. Lines that are versions of
// each other know it where there is one for each.
func (w *layer) below(all []pairs, versions bool) {
	for _, p := range all {
		if p.left < 0 {
			continue
		}
		if !p.same {
			r := row{kind: lineRow, left: int32(p.left), right: -1, old: w.old}
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
		r := row{kind: lineRow, same: p.same, left: int32(p.right), right: -1, new: w.new}
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
