package changes

import (
	"sort"

	"aibox/review"
	"aibox/ui/widget/frame"

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
	foldRow             // lines of a hunk that are not shown
	gapRow              // lines beside the hunks that are not shown
)

// row is a row of a diff. A line is a place among its hunk's or gap's, none is -1.
type row struct {
	kind     kind
	same     bool  // its lines differ in blanks alone, which do not count now
	gap      bool  // it is of the gap behind the hunk, whose shown lines are its lines
	hunk     int32 // -1 before the first
	left     int32 // the old line; of a note its place, of a fold or a gap how many lines
	right    int32 // the new line; in one that stands alone, the line it is a version of
	old, new int32 // the lines' numbers in their files; 0 is none
}

// section is rows of the same kind that follow each other: in each the lines and their
// numbers are one further than in the row before.
type section struct {
	first row
	at    int // the number of its first row
	n     int
}

// row is row i of the section.
func (s section) row(i int) row {
	r, by := s.first, int32(i)
	for _, line := range []*int32{&r.left, &r.right} {
		if *line >= 0 {
			*line += by
		}
	}
	for _, number := range []*int32{&r.old, &r.new} {
		if *number > 0 {
			*number += by
		}
	}
	return r
}

// layout is a file's diff in rows. They are kept in sections, so that it costs as much
// as there are changes, however long they are, and any row is found at once.
type layout struct {
	sections []section
	n        int   // rows
	heads    []int // the rows of the hunks' heads
	gaps     []gap
	notes    []note
	style    style
	made     int // by which remarks: see remarks.version
	wide     int // cells of the longest note, before it was wrapped
	blank    int // lines that count as unchanged because of their blanks
}

// is reports whether the rows are as a style has them.
func (l *layout) is(s style) bool {
	if l.wide <= min(s.width, l.style.width)-len(noteIndent) {
		s.width = l.style.width // no note is wrapped in either
	}
	return l.style == s
}

// row is row i, which there must be.
func (l *layout) row(i int) row {
	s := l.sections[l.section(i)]
	return s.row(i - s.at)
}

// put adds n rows of which r is the first.
func (l *layout) put(r row, n int) {
	if n > 0 {
		l.sections = append(l.sections, section{r, l.n, n})
		l.n += n
	}
}

// noteIndent stands before all rows of a note but the first.
const noteIndent = "  "

// leastNote is the cells a note has however narrow the screen is.
const leastNote = 10

// note lays a note in as many rows as it needs: what is said of a risk is of no use
// without its end.
func (l *layout) note(at row, n note) {
	l.wide = max(l.wide, ansi.StringWidth(n.text))
	parts := []string{n.text}
	if l.style.width > 0 {
		parts = frame.Wrap(n.text, max(leastNote, l.style.width)-len(noteIndent))
	}
	indent := ""
	for _, part := range parts {
		l.put(row{kind: noteRow, gap: at.gap, hunk: at.hunk, left: int32(len(l.notes)), right: -1}, 1)
		l.notes = append(l.notes, note{indent + part, n.tone})
		indent = noteIndent
	}
}

// find is the row that shows what another layout's row shows, or comes near.
func (l *layout) find(r row) int {
	from := 0
	if r.hunk >= 0 && int(r.hunk) < len(l.heads) {
		from = l.heads[r.hunk]
	}
	if r.kind == headRow || r.kind == foldRow || l.n == 0 {
		return from
	}
	near := from
	for _, s := range l.sections[l.section(from):] {
		if s.first.hunk != r.hunk {
			break
		}
		if s.first.gap != r.gap {
			continue
		}
		if s.first == r {
			return s.at // a note, as a rule
		}
		into := s.into(r.new, s.first.new)
		if r.new == 0 {
			into = s.into(r.old, s.first.old)
		}
		switch {
		case r.kind == gapRow && s.first.kind == gapRow:
			return s.at
		case into < 0:
		case r.kind != gapRow:
			return s.at + into
		case near == from:
			near = s.at + into // unless some of the gap is still hidden, behind it
		}
	}
	return near
}

// into is how far in the section the line of a number stands, of which there is the
// first; it is 0 where that comes later, and -1 where it came before.
func (s section) into(number, first int32) int {
	last := first + int32(s.n) - 1
	if s.first.kind == gapRow {
		last = first + s.first.left - 1
	}
	switch {
	case number == 0 || first == 0 || number > last:
		return -1
	case s.first.kind == gapRow:
		return 0
	default:
		return max(0, int(number-first))
	}
}

// endOf is the row behind the hunk with the head in a row; of its rows no more than most
// count.
func (l *layout) endOf(head, most int) int {
	end := head
	for _, s := range l.sections[l.section(head):] {
		if s.first.gap || s.first.hunk != l.row(head).hunk || end >= head+most {
			break
		}
		end = s.at + s.n
	}
	return min(end, head+most)
}

// section is the number of the section of a row.
func (l *layout) section(row int) int {
	return sort.Search(len(l.sections), func(i int) bool { return l.sections[i].at > row }) - 1
}

// lay makes the rows of a file.
func (f *file) lay(s style, remarks remarks) layout {
	l := layout{style: s, made: remarks.version, gaps: f.gaps()}
	for _, n := range remarks.ofFile(f) {
		l.note(row{hunk: -1}, n)
	}
	said := remarks.ofLines(f)
	if s.blank && f.aligned == nil {
		f.aligned = alignAll(f.hunks, f.runs)
	}
	for i := range f.hunks {
		h := &f.hunks[i]
		if g := l.behind(i - 1); g != nil {
			g.lay(&l, s, said)
		}
		at := row{hunk: int32(i)}
		l.heads = append(l.heads, l.n)
		l.put(row{kind: headRow, hunk: at.hunk, left: -1, right: -1}, 1)
		for _, n := range remarks.ofHunk(h.ID) {
			l.note(at, n)
		}
		if f.folded[h.ID] {
			l.put(row{kind: foldRow, hunk: at.hunk, left: int32(len(h.Lines)), right: -1}, 1)
			continue
		}
		w := layer{layout: &l, style: s, at: at, lines: len(h.Lines), old: int32(h.OldStart), new: int32(h.NewStart), said: said}
		if s.blank {
			w.aligned = f.aligned[i]
		}
		if h.Kind == review.HunkAdded || h.Kind == review.HunkDeleted {
			w.style.split = false // there is only one version
		}
		w.run(f.runs[i])
	}
	if g := l.behind(len(f.hunks) - 1); g != nil {
		g.lay(&l, s, said)
	}
	return l
}

// behind is the gap behind a hunk, or nil.
func (l *layout) behind(hunk int) *gap {
	i := sort.Search(len(l.gaps), func(i int) bool { return l.gaps[i].after >= hunk })
	if i == len(l.gaps) || l.gaps[i].after != hunk {
		return nil
	}
	return &l.gaps[i]
}
