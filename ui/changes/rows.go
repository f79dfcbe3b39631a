package changes

import (
	"bytes"
	"slices"
	"strings"

	"aibox/review"

	"github.com/charmbracelet/x/ansi"
)

// style is how a diff is laid out.
type style struct {
	split bool // the old and the new lines side by side
	blank bool // lines that differ in blanks alone count as unchanged
	brief bool // unchanged lines are left out
	width int  // cells of a note; a longer one has several rows. 0 is no limit
}

// kind is what a row of a diff shows.
type kind uint8

const (
	noteRow kind = iota // something that is said of the file, of a hunk or of a line
	headRow             // the head of a hunk
	lineRow             // a line, below each other
	pairRow             // an old line and a new one, side by side
	foldRow             // lines that are not shown
)

// row is a row of a diff. A line is a place in its hunk's lines, none is -1.
type row struct {
	kind     kind
	same     bool  // its lines differ in blanks alone, which do not count now
	hunk     int32 // -1 for a note of the whole file
	left     int32 // the old line; of a note its place, of a fold how many lines
	right    int32 // the new line; in one that stands alone, the line it is a version of
	old, new int32 // the lines' numbers in their files; 0 is none
}

// layout is a file's diff in rows, so that any window of them can be shown without
// looking at the others.
type layout struct {
	rows  []row
	heads []int // the rows of the hunks' heads
	notes []note
	style style
	made  int // by which remarks: see remarks.version
	wide  int // cells of the longest note, before it was wrapped
	blank int // lines that count as unchanged because of their blanks
}

// lay makes the rows of a file.
func (f *file) lay(s style, remarks remarks) layout {
	l := layout{style: s, made: remarks.version}
	above := remarks.ofFile(f)
	n := len(above)
	for i := range f.hunks {
		n += 2 + len(f.hunks[i].Lines)
	}
	l.rows = make([]row, 0, n)
	for _, n := range above {
		l.note(-1, n)
	}
	for i := range f.hunks {
		h := &f.hunks[i]
		l.heads = append(l.heads, len(l.rows))
		l.rows = append(l.rows, row{kind: headRow, hunk: int32(i), left: -1, right: -1})
		for _, n := range remarks.ofHunk(h.ID) {
			l.note(i, n)
		}
		if f.folded[h.ID] {
			l.rows = append(l.rows, row{kind: foldRow, hunk: int32(i), left: int32(len(h.Lines)), right: -1})
			continue
		}
		w := layer{layout: &l, style: s, hunk: i, lines: h.Lines, old: int32(h.OldStart), new: int32(h.NewStart), remarks: remarks.ofLines(f)}
		if h.Kind == review.HunkAdded || h.Kind == review.HunkDeleted {
			w.style.split = false // there is only one version
		}
		w.run()
	}
	return l
}

// noteIndent stands before all rows of a note but the first.
const noteIndent = "  "

// note lays a note in as many rows as it needs: what is said of a risk is of no use
// without its end.
func (l *layout) note(hunk int, n note) {
	l.wide = max(l.wide, ansi.StringWidth(n.text))
	text := n.text
	if l.style.width > 0 {
		text = ansi.Wrap(text, max(leastNote-len(noteIndent), l.style.width-len(noteIndent)), "")
	}
	indent := ""
	for part := range strings.SplitSeq(text, "\n") {
		l.rows = append(l.rows, row{kind: noteRow, hunk: int32(hunk), left: int32(len(l.notes)), right: -1})
		l.notes = append(l.notes, note{indent + part, n.tone})
		indent = noteIndent
	}
}

// leastNote is the cells a note has however narrow the screen is.
const leastNote = 10

// is reports whether the rows are as a style has them.
func (l *layout) is(s style) bool {
	if l.wide <= min(s.width, l.style.width)-len(noteIndent) {
		s.width = l.style.width // no note is wrapped in either
	}
	return l.style == s
}

// layer lays the lines of one hunk.
type layer struct {
	*layout
	style    style
	hunk     int
	lines    []review.Line
	old, new int32 // the numbers of the next lines
	remarks  map[int][]note
	hidden   int32 // unchanged lines that were left out
}

func (w *layer) run() {
	for i := 0; i < len(w.lines); {
		if w.lines[i].Op == ' ' {
			w.context(i)
			i++
			continue
		}
		removed := i
		for i < len(w.lines) && w.lines[i].Op == '-' {
			i++
		}
		added := i
		for i < len(w.lines) && w.lines[i].Op == '+' {
			i++
		}
		w.show()
		w.change(removed, added, i)
	}
	w.show()
}

// context lays an unchanged line.
func (w *layer) context(i int) {
	switch {
	case w.style.brief:
		w.hidden++
	case w.style.split:
		w.put(row{kind: pairRow, left: int32(i), right: int32(i), old: w.old, new: w.new})
	default:
		w.put(row{kind: lineRow, left: int32(i), right: -1, old: w.old, new: w.new})
	}
	w.old, w.new = w.old+1, w.new+1
}

// show says how many lines were left out.
func (w *layer) show() {
	if w.hidden > 0 {
		w.put(row{kind: foldRow, left: w.hidden, right: -1})
		w.hidden = 0
	}
}

func (w *layer) put(r row) {
	r.hunk = int32(w.hunk)
	w.rows = append(w.rows, r)
	for _, n := range w.remarks[int(r.new)] {
		if r.new > 0 {
			w.note(w.hunk, n)
		}
	}
}

// change lays lines that were removed, from up to added, and the ones in their place.
func (w *layer) change(from, added, to int) {
	old, fresh := w.old, w.new
	var pairs []pair
	if w.style.blank {
		pairs = align(w.lines, from, added, to)
	} else {
		pairs = beside(from, added, added, to)
	}
	if w.style.split {
		w.sideBySide(pairs)
	} else {
		w.below(pairs, added-from == to-added)
	}
	w.old, w.new = old+int32(added-from), fresh+int32(to-added)
}

func (w *layer) sideBySide(pairs []pair) {
	for _, p := range pairs {
		r := row{kind: pairRow, same: p.same, left: int32(p.left), right: int32(p.right)}
		if p.left >= 0 {
			r.old = w.old
			w.old++
		}
		if p.right >= 0 {
			r.new = w.new
			w.new++
		}
		if p.same {
			w.blank++
		}
		w.put(r)
	}
}

// below lays first what was removed, then what was added. Lines that are versions of
// each other know it where there is one for each.
func (w *layer) below(pairs []pair, versions bool) {
	for _, p := range pairs {
		if p.left < 0 {
			continue
		}
		if !p.same {
			r := row{kind: lineRow, left: int32(p.left), right: -1, old: w.old}
			if versions {
				r.right = int32(p.right)
			}
			w.put(r)
		}
		w.old++
	}
	for _, p := range pairs {
		if p.right < 0 {
			continue
		}
		r := row{kind: lineRow, same: p.same, left: int32(p.right), right: -1, new: w.new}
		if versions && !p.same {
			r.right = int32(p.left)
		}
		if p.same {
			w.blank++
		}
		w.put(r)
		w.new++
	}
}

// pair is an old and a new line that stand beside each other; -1 is none.
type pair struct {
	left, right int
	same        bool
}

// beside puts old lines, from a up to b, and new ones, from c up to d, beside each
// other as they come.
func beside(a, b, c, d int) []pair {
	pairs := make([]pair, 0, max(b-a, d-c))
	for i := range max(b-a, d-c) {
		p := pair{left: -1, right: -1}
		if a+i < b {
			p.left = a + i
		}
		if c+i < d {
			p.right = c + i
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// ahead is how far a line is looked for among those in its place.
const ahead = 40

// align puts lines that differ in blanks alone beside each other, and the others
// between them as they come. Lines of nothing but blanks are the same as none.
func align(lines []review.Line, from, added, to int) []pair {
	var pairs []pair
	left, right := from, added
	upTo := func(l, r int) {
		for left < l || right < r {
			p := pair{left: -1, right: -1}
			switch {
			case right < r && blank(lines[right].Text):
				p.right, p.same = right, true
			case left < l && blank(lines[left].Text):
				p.left, p.same = left, true
			default:
				if left < l {
					p.left = left
				}
				if right < r {
					p.right = right
				}
			}
			pairs = append(pairs, p)
			if p.left >= 0 {
				left++
			}
			if p.right >= 0 {
				right++
			}
		}
	}
	sums := make([]uint64, to-added)
	for i := range sums {
		sums[i] = withoutBlanks(lines[added+i].Text)
	}
	for l := from; l < added && right < to; l++ {
		sum := withoutBlanks(lines[l].Text)
		near := sums[right-added : min(to, right+ahead)-added]
		if r := right + slices.Index(near, sum); r >= right && sameButBlanks(lines[l].Text, lines[r].Text) {
			upTo(l, r)
			pairs = append(pairs, pair{l, r, true})
			left, right = l+1, r+1
		}
	}
	upTo(added, to)
	return pairs
}

// withoutBlanks is a checksum (FNV-1a) of all of a line but its blanks.
func withoutBlanks(text []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range text {
		if c != ' ' && (c < '\t' || c > '\r') {
			sum = (sum ^ uint64(c)) * 1099511628211
		}
	}
	return sum
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// sameButBlanks compares two lines without any blanks.
func sameButBlanks(a, b []byte) bool {
	for {
		a, b = bytes.TrimLeft(a, " \t\n\v\f\r"), bytes.TrimLeft(b, " \t\n\v\f\r")
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}
