// Package lazyregexp has regular expressions that are compiled at their first use. If all
// were compiled at the program's start, every command would take longer. It has only the
// methods that callers need.
//
// golang.org/x has no such package, and the one in the standard library is internal.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression. It is safe for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the regular expression of a text. Its first use panics if the text is not
// valid; in tests, New itself does.
func New(text string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	if strings.HasSuffix(os.Args[0], ".test") {
		r.compiled()
	}
	return r
}

// MatchString reports whether text has a match.
func (r *Regexp) MatchString(text string) bool { return r.compiled().MatchString(text) }

// Match reports whether text has a match.
func (r *Regexp) Match(text []byte) bool { return r.compiled().Match(text) }

// FindStringSubmatch returns the first match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(text string) []string {
	return r.compiled().FindStringSubmatch(text)
}

// FindSubmatch returns the first match and its groups, or nil.
func (r *Regexp) FindSubmatch(text []byte) [][]byte { return r.compiled().FindSubmatch(text) }

// FindStringSubmatchIndex returns the offsets of the first match and its groups, or nil.
func (r *Regexp) FindStringSubmatchIndex(text string) []int {
	return r.compiled().FindStringSubmatchIndex(text)
}

// FindAllStringSubmatchIndex returns the offsets of at most n matches and their groups; of
// all if n is negative.
func (r *Regexp) FindAllStringSubmatchIndex(text string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(text, n)
}

// FindAllStringSubmatch returns at most n matches and their groups; all if n is negative.
func (r *Regexp) FindAllStringSubmatch(text string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(text, n)
}

// ReplaceAllString replaces every match.
func (r *Regexp) ReplaceAllString(text, by string) string {
	return r.compiled().ReplaceAllString(text, by)
}

// ReplaceAllStringFunc replaces every match with the result of replace for it.
func (r *Regexp) ReplaceAllStringFunc(text string, replace func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(text, replace)
}
