package gitignore

import "strings"

// List is a list of patterns in order of precedence: the last one that matches decides.
type List struct{ patterns []Pattern }

// Add appends a pattern.
func (l *List) Add(p Pattern) { l.patterns = append(l.patterns, p) }

// AddFile appends the lines of a .gitignore file in the folder dir ("" for the top).
func (l *List) AddFile(dir, content string) {
	for line := range strings.SplitSeq(strings.TrimPrefix(content, "\uFEFF"), "\n") {
		if p, ok := Parse(strings.TrimSuffix(line, "\r"), dir); ok {
			l.Add(p)
		}
	}
}

// Last returns the index of the last pattern that matches the path itself, without regard
// to the folders above; -1 for none.
func (l *List) Last(path string, isFolder bool) int {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		if l.patterns[i].Match(path, isFolder) {
			return i
		}
	}
	return -1
}

// Entry reports whether the patterns ignore a path. It assumes that they do not ignore the
// folders above it.
func (l *List) Entry(path string, isFolder bool) bool {
	i := l.Last(path, isFolder)
	return i >= 0 && !l.patterns[i].Show
}

// Match reports whether the patterns ignore the path or a folder above it: a path in an
// ignored folder cannot be included again.
func (l *List) Match(path string, isFolder bool) bool {
	for i := range len(path) {
		if path[i] == '/' && l.Entry(path[:i], true) {
			return true
		}
	}
	return l.Entry(path, isFolder)
}
