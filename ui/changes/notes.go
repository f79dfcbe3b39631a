package changes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
)

// note is a line that is said of a file, of a hunk or of a line.
type note struct {
	text string // escaped
	tone tone
}

// tone is how grave a note is.
type tone uint8

const (
	quiet tone = iota
	warns
	said // by the person
	named
)

// remarks are what a person said of the work.
type remarks struct {
	comments []session.Comment
	version  int // counts what was added
}

// add keeps a comment.
func (r *remarks) add(c ...session.Comment) {
	r.comments = append(slices.Clip(r.comments), c...)
	r.version++
}

// title is the name of a file and what happened to it.
func (remarks) title(f *file) note {
	c := f.change
	title := c.Path.String()
	if c.OldPath != "" {
		title = c.OldPath.String() + " → " + title
	}
	if c.OldMode != "" && c.NewMode != "" && c.OldMode != c.NewMode {
		title += fmt.Sprintf(" (mode %s → %s)", c.OldMode, c.NewMode)
	}
	return note{title + "  " + string(c.Kind), named}
}

// ofFile are the notes above a file's diff: what happened to it, its risks, what was
// said of it as a whole.
func (r remarks) ofFile(f *file) []note {
	out := []note{r.title(f)}
	for _, risk := range f.change.Risks {
		n := note{"! " + risk.String(), quiet}
		if risk.Holds() {
			n.tone = warns
		}
		out = append(out, n)
	}
	for _, text := range f.change.Notes {
		out = append(out, note{"! " + termtext.Escape(text), warns})
	}
	for _, c := range r.comments {
		switch {
		case c.Path != f.change.Path || c.Hunk != "" && f.number(c.Hunk) >= 0 || c.Hunk == "" && f.shows(c.Line):
		case c.Line > 0:
			out = append(out, comment(fmt.Sprintf("line %d: %s", c.Line, c.Text))...)
		default:
			out = append(out, comment(c.Text)...)
		}
	}
	return append(out, note{})
}

// shows reports whether a line of the agent's version stands in one of the hunks or
// what is shown around them.
func (f *file) shows(line int) bool {
	return slices.ContainsFunc(f.hunks, func(h review.Hunk) bool {
		return len(h.Lines) > 0 && line >= h.NewStart && line < h.NewStart+h.NewLines
	}) || slices.ContainsFunc(f.gaps(), func(g gap) bool { return g.has(line) })
}

// ofHunk are the notes below the head of a hunk.
func (r remarks) ofHunk(id review.HunkID) []note {
	var out []note
	for _, c := range r.comments {
		if c.Hunk == id {
			out = append(out, comment(c.Text)...)
		}
	}
	return out
}

// lineNotes are notes below lines of the agent's version of a file.
type lineNotes struct {
	lines []int // in order
	notes map[int][]note
}

// within are those of n lines from one on that have notes.
func (l lineNotes) within(from, n int) []int {
	first, _ := slices.BinarySearch(l.lines, from)
	last, _ := slices.BinarySearch(l.lines, from+n)
	return l.lines[first:last]
}

// ofLines are the notes below lines of a file.
func (r remarks) ofLines(f *file) lineNotes {
	out := map[int][]note{}
	add := func(line int, notes ...note) { out[line] = append(out[line], notes...) }
	for _, risk := range f.change.Risks {
		if risk.Line > 0 && risk.Holds() {
			add(risk.Line, note{"! " + risk.Title, warns})
		}
	}
	for _, c := range r.comments {
		if c.Path == f.change.Path && c.Hunk == "" && c.Line > 0 {
			add(c.Line, comment(c.Text)...)
		}
	}
	return lineNotes{slices.Sorted(maps.Keys(out)), out}
}

// comment is what a person said, in lines.
func comment(text string) []note {
	var out []note
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, note{"» " + termtext.Escape(line), said})
	}
	return out
}
