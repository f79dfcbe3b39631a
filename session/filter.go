package session

import (
	"path/filepath"
	"slices"
	"strings"
)

// Filter selects sessions. The zero value selects all of them.
type Filter struct{ words []condition }

// condition is one condition; a session has to meet all of them.
type condition struct {
	not    bool
	column func(*Summary) string // lower case; nil looks everywhere
	any    []string              // lower case; one of them has to occur
}

// filterColumns are the words that may come before a colon.
var filterColumns = map[string]func(*Summary) string{
	"id":     func(b *Summary) string { return string(b.ID) },
	"state":  stateWords,
	"agent":  func(b *Summary) string { return strings.ToLower(b.Agent) },
	"repo":   func(b *Summary) string { return strings.ToLower(b.Repository) },
	"branch": func(b *Summary) string { return strings.ToLower(b.Branch) },
	"task":   func(b *Summary) string { return strings.ToLower(b.Task) },
}

// ParseFilter reads a filter as typed: words that all have to occur in a session's
// line, in any case. "state:running,failed" looks in one column (those of columns) for
// either word, and a "-" before a word excludes it. Any text is a filter; a colon
// after another word is text.
func ParseFilter(text string) Filter {
	var f Filter
	for _, typed := range strings.Fields(strings.ToLower(text)) {
		w := condition{any: []string{typed}}
		if rest, not := strings.CutPrefix(typed, "-"); not && rest != "" {
			w.not, w.any = true, []string{rest}
		}
		if name, values, ok := strings.Cut(w.any[0], ":"); ok && filterColumns[name] != nil {
			w.column, w.any = filterColumns[name], strings.Split(values, ",")
			if values == "" {
				continue // about to be typed
			}
		}
		f.words = append(f.words, w)
	}
	return f
}

// Match reports whether the session meets every word.
func (f Filter) Match(b *Summary) bool {
	everywhere := ""
	for _, w := range f.words {
		text := ""
		if w.column != nil {
			text = w.column(b)
		} else {
			if everywhere == "" {
				everywhere = strings.ToLower(strings.Join([]string{
					string(b.ID), b.Agent, filepath.Base(b.Repository), b.Branch, b.Task, string(b.Status()),
				}, " "))
			}
			text = everywhere
		}
		found := slices.ContainsFunc(w.any, func(value string) bool { return value != "" && strings.Contains(text, value) })
		if found == w.not {
			return false
		}
	}
	return true
}

// stateWords are the words for a session's state: its status, its phase, and "open"
// where its work waits for a decision. A blank in them is a "-", too, since words have none.
func stateWords(b *Summary) string {
	text := string(b.Status()) + " " + string(b.Phase)
	if b.Open() {
		text += " open"
	}
	return text + " " + strings.ReplaceAll(string(b.Status()), " ", "-")
}
