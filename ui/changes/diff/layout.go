package diff

import (
	"sort"

	"aibox/review"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// style is how a diff is laid out.
type style struct {
	split bool // the old and the new lines side by side
	Blank bool // lines that differ in blanks only count as unchanged
	brief bool // unchanged lines are left out
	width int  // cells of a note, which is wrapped beyond them; 0 is no limit
}

// kind is the kind of a row of a diff.
type kind uint8

const (
	noteRow kind = iota // a note on the file, on a hunk or on a line
	HeadRow             // the heading of a hunk
	LineRow             // a line of the unified diff
	pairRow             // an old line and a new one, side by side
	foldRow             // the number of hidden lines of a hunk
	GapRow              // the number of hidden lines of a gap
)

// Row is a row of a diff. A line is an index among those of its hunk or gap; -1 is none.
type Row struct {
	Kind     kind
	same     bool  // its lines differ in blanks only, which are ignored now
	Gap      bool  // it belongs to the gap after the hunk, and indexes that gap's shown lines
	Hunk     int32 // -1 before the first
	left     int32 // the old line; the index of a note; the number of hidden lines
	right    int32 // the new line; in a unified diff, the other version of the line
	Old, New int32 // line numbers in the files; 0 is none
}

// section is consecutive rows of the same kind: from row to row, lines and line numbers
// increase by one.
type section struct {
	first Row
	at    int // the number of its first row
	n     int
}

// row returns row i of the section.
func (s section) row(i int) Row {
	r, by := s.first, int32(i)
	for _, line := range []*int32{&r.left, &r.right} {
		if *line >= 0 {
			*line += by
		}
	}
	for _, number := range []*int32{&r.Old, &r.New} {
		if *number > 0 {
			*number += by
		}
	}
	return r
}

// Layout is a file's diff in rows. It keeps sections, so that its cost depends on the
// number of changes and not on their length, and finds any row by binary search.
type Layout struct {
	sections []section
	Rows     int   // rows
	heads    []int // the rows of the hunks' heads
	gaps     []gap
	notes    []note
	style    style
	comments int // the version of the comments in it; -1 when it is out of date
	wide     int // cells of the longest note, before it was wrapped
	blank    int // lines that count as unchanged because they differ in blanks only
}

// fits reports whether the layout matches a style.
func (l *Layout) fits(s style) bool {
	if l.wide <= min(s.width, l.style.width)-len(noteIndent) {
		s.width = l.style.width // no note is wrapped in either
	}
	return l.style == s
}

// row returns row i, which must exist.
func (l *Layout) row(i int) Row {
	s := l.sections[l.section(i)]
	return s.row(i - s.at)
}

// put adds n rows that start with r.
func (l *Layout) put(r Row, n int) {
	if n > 0 {
		l.sections = append(l.sections, section{r, l.Rows, n})
		l.Rows += n
	}
}

// noteIndent precedes the rows of a note after the first.
const noteIndent = "  "

// minNoteWidth is the cells a note gets on any screen.
const minNoteWidth = 10

// note adds a note in as many rows as it needs, because a risk must be readable in full.
func (l *Layout) note(at Row, n note) {
	l.wide = max(l.wide, ansi.StringWidth(n.text))
	parts := []string{n.text}
	if l.style.width > 0 {
		parts = frame.Wrap(n.text, max(minNoteWidth, l.style.width)-len(noteIndent))
	}
	indent := ""
	for _, part := range parts {
		l.put(Row{Kind: noteRow, Gap: at.Gap, Hunk: at.Hunk, left: int32(len(l.notes)), right: -1}, 1)
		l.notes = append(l.notes, note{indent + part, n.tone})
		indent = noteIndent
	}
}

// Find returns the row with the same content as a row of another layout, or the nearest row.
func (l *Layout) Find(r Row) int {
	from := 0
	if r.Hunk >= 0 && int(r.Hunk) < len(l.heads) {
		from = l.heads[r.Hunk]
	}
	if r.Kind == HeadRow || r.Kind == foldRow || l.Rows == 0 {
		return from
	}
	near := from
	for _, s := range l.sections[l.section(from):] {
		if s.first.Hunk != r.Hunk {
			break
		}
		if s.first.Gap != r.Gap {
			continue
		}
		if s.first == r {
			return s.at // usually a note
		}
		into := s.into(r.New, s.first.New)
		if r.New == 0 {
			into = s.into(r.Old, s.first.Old)
		}
		switch {
		case r.Kind == GapRow && s.first.Kind == GapRow:
			return s.at
		case into < 0:
		case r.Kind != GapRow:
			return s.at + into
		case near == from:
			near = s.at + into // unless a hidden part of the gap follows
		}
	}
	return near
}

// into returns the offset in the section of the line with a number. first is the number of the
// section's first line. The result is 0 if the line comes before the section, and -1 if it comes
// after.
func (s section) into(number, first int32) int {
	last := first + int32(s.n) - 1
	if s.first.Kind == GapRow {
		last = first + s.first.left - 1
	}
	switch {
	case number == 0 || first == 0 || number > last:
		return -1
	case s.first.Kind == GapRow:
		return 0
	default:
		return max(0, int(number-first))
	}
}

// endOf returns the row after the hunk whose heading is row head, at most limit rows after the
// heading.
func (l *Layout) endOf(head, limit int) int {
	end := head
	for _, s := range l.sections[l.section(head):] {
		if s.first.Gap || s.first.Hunk != l.row(head).Hunk || end >= head+limit {
			break
		}
		end = s.at + s.n
	}
	return min(end, head+limit)
}

// section returns the index of the section of a row.
func (l *Layout) section(row int) int {
	return sort.Search(len(l.sections), func(i int) bool { return l.sections[i].at > row }) - 1
}

// Above returns the numbers of the last lines of each version above a row; 0 is none.
func (l *Layout) Above(row int) (old, fresh int) {
	for row > 0 && (old == 0 || fresh == 0) {
		s := l.sections[l.section(row-1)]
		last := s.row(row - 1 - s.at)
		if old == 0 {
			old = int(last.Old)
		}
		if fresh == 0 {
			fresh = int(last.New)
		}
		row = s.at
	}
	return old, fresh
}

// rowOf returns the row that shows a line of the agent's version, or of the old one; -1
// when none does.
func (l *Layout) rowOf(line int, old bool) int {
	for _, s := range l.sections {
		if s.first.Kind == GapRow {
			continue // it has the number of the first line that it hides
		}
		r, first := s.first, s.first.New
		if old {
			first = r.Old
		}
		into := line - int(first)
		if first == 0 || into < 0 || into >= s.n || old && r.Kind == LineRow && r.New > 0 {
			continue
		}
		return s.at + into
	}
	return -1
}

// layOut makes the rows of a file.
func (f *File) layOut(s style, comments comments) Layout {
	l := Layout{style: s, comments: comments.version, gaps: f.gaps()}
	for _, n := range comments.ofFile(f) {
		l.note(Row{Hunk: -1}, n)
	}
	notes := comments.ofLines(f)
	if s.Blank && f.Aligned == nil {
		f.Aligned = alignAll(f.Hunks(), f.runs)
	}
	for i, h := range f.Hunks() {
		if g := l.gapAfter(i - 1); g != nil {
			g.layOut(&l, s, notes)
		}
		at := Row{Hunk: int32(i)}
		l.heads = append(l.heads, l.Rows)
		l.put(Row{Kind: HeadRow, Hunk: at.Hunk, left: -1, right: -1}, 1)
		for _, n := range comments.ofHunk(h.ID) {
			l.note(at, n)
		}
		if f.folded[h.ID] {
			l.put(Row{Kind: foldRow, Hunk: at.Hunk, left: int32(len(h.Lines)), right: -1}, 1)
			continue
		}
		w := layoutBuilder{Layout: &l, style: s, at: at, lines: len(h.Lines), old: int32(h.OldStart), new: int32(h.NewStart), notes: notes}
		if s.Blank {
			w.aligned = f.Aligned[i]
		}
		if h.Kind == review.HunkAdded || h.Kind == review.HunkDeleted {
			w.style.split = false // there is only one version
		}
		w.changed(f.runs[i])
	}
	if g := l.gapAfter(len(f.Hunks()) - 1); g != nil {
		g.layOut(&l, s, notes)
	}
	return l
}

// gapAfter returns the gap after a hunk, or nil.
func (l *Layout) gapAfter(hunk int) *gap {
	i := sort.Search(len(l.gaps), func(i int) bool { return l.gaps[i].after >= hunk })
	if i == len(l.gaps) || l.gaps[i].after != hunk {
		return nil
	}
	return &l.gaps[i]
}
