package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session/feedback"
)

// note is a line of text on a file, on a hunk or on a line.
type note struct {
	text string // escaped
	tone tone
}

// tone is the kind of a note, which decides its color.
type tone uint8

const (
	quietTone tone = iota
	warningTone
	commentTone
	titleTone
	numTones
)

// comments are the user's comments on the work.
type comments struct {
	all     []feedback.Comment
	version int // changes with every comment that is added
}

// Add adds comments.
func (c *comments) Add(more ...feedback.Comment) {
	c.all = append(slices.Clip(c.all), more...)
	c.version++
}

// title returns the name of a file and what happened to it.
func (f *File) title() note {
	c := f.Change
	title := c.Path.String()
	if c.OldPath != "" {
		title = c.OldPath.String() + " → " + title
	}
	return note{title + "  " + c.Describe(), titleTone}
}

// ofFile returns the notes above a file's diff: what happened to it, its risks, and the
// comments that have no row of their own.
func (c comments) ofFile(f *File) []note {
	out := []note{f.title()}
	if f.Change.LFS != nil {
		out = append(out, note{f.Change.DescribeLFS(), quietTone})
	}
	for _, risk := range f.Change.Risks {
		n := note{"! " + risk.String(), quietTone}
		if risk.Holds() {
			n.tone = warningTone
		}
		out = append(out, n)
	}
	for _, text := range f.Change.Notes {
		out = append(out, note{"! " + termtext.Escape(text), warningTone})
	}
	for _, c := range c.all {
		switch {
		case c.Path != f.Change.Path || c.Hunk != "" && f.Index(c.Hunk) >= 0 || c.Hunk == "" && f.shows(c.Line):
		case c.Line > 0:
			out = append(out, commentNotes(fmt.Sprintf("line %d: %s", c.Line, c.Text))...)
		default:
			out = append(out, commentNotes(c.Text)...)
		}
	}
	return append(out, note{})
}

// shows reports whether a line of the agent's version is in a hunk or shown around one.
func (f *File) shows(line int) bool {
	return slices.ContainsFunc(f.Hunks(), func(h review.Hunk) bool {
		return len(h.Lines) > 0 && line >= h.NewStart && line < h.NewStart+h.NewLines
	}) || slices.ContainsFunc(f.gaps(), func(g gap) bool { return g.has(line) })
}

// ofHunk returns the notes below the heading of a hunk.
func (c comments) ofHunk(id review.HunkID) []note {
	var out []note
	for _, c := range c.all {
		if c.Hunk == id {
			out = append(out, commentNotes(c.Text)...)
		}
	}
	return out
}

// lineNotes are notes on lines of the agent's version of a file.
type lineNotes struct {
	lines  []int // sorted
	byLine map[int][]note
}

// within returns the lines that have notes among the n lines that start at from.
func (l lineNotes) within(from, n int) []int {
	first, _ := slices.BinarySearch(l.lines, from)
	last, _ := slices.BinarySearch(l.lines, from+n)
	return l.lines[first:last]
}

// ofLines returns the notes on lines of a file.
func (c comments) ofLines(f *File) lineNotes {
	byLine := map[int][]note{}
	add := func(line int, notes ...note) { byLine[line] = append(byLine[line], notes...) }
	for _, risk := range f.Change.Risks {
		if risk.Line > 0 && risk.Holds() {
			add(risk.Line, note{"! " + risk.Title, warningTone})
		}
	}
	for _, c := range c.all {
		if c.Path == f.Change.Path && c.Hunk == "" && c.Line > 0 {
			add(c.Line, commentNotes(c.Text)...)
		}
	}
	return lineNotes{slices.Sorted(maps.Keys(byLine)), byLine}
}

// commentNotes returns a comment as notes, one per line.
func commentNotes(text string) []note {
	var out []note
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, note{"» " + termtext.Escape(line), commentTone})
	}
	return out
}
