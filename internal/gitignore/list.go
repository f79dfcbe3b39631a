package gitignore

import "strings"

// List is patterns in order of rank: of those that match, the last one counts.
type List struct{ patterns []Pattern }

// Add puts a pattern at the end.
func (l *List) Add(p Pattern) { l.patterns = append(l.patterns, p) }

// AddFile puts the lines of a .gitignore file in the folder dir ("" for the top) at the
// end.
func (l *List) AddFile(dir, content string) {
	for line := range strings.SplitSeq(strings.TrimPrefix(content, "\uFEFF"), "\n") {
		if p, ok := Parse(strings.TrimSuffix(line, "\r"), dir); ok {
			l.Add(p)
		}
	}
}

// Last returns the index of the last pattern that matches the path itself, whatever the
// folders above are; -1 for none.
func (l *List) Last(path string, isFolder bool) int {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		if l.patterns[i].Match(path, isFolder) {
			return i
		}
	}
	return -1
}

// Entry reports whether the patterns leave out a path whose folders they do not.
func (l *List) Entry(path string, isFolder bool) bool {
	i := l.Last(path, isFolder)
	return i >= 0 && !l.patterns[i].Show
}

// Match reports whether the patterns leave out the path, or a folder above it: what is
// in a folder that is left out cannot be shown again.
func (l *List) Match(path string, isFolder bool) bool {
	for i := range len(path) {
		if path[i] == '/' && l.Entry(path[:i], true) {
			return true
		}
	}
	return l.Entry(path, isFolder)
}
