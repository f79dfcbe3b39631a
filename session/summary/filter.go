package summary

import (
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/session"
)

// Filter selects sessions. The zero value selects all of them.
type Filter struct{ words []condition }

// condition is one condition of a filter; a session must meet all of them.
type condition struct {
	not    bool
	states bool                  // column is the state
	column func(*Summary) string // the column in lower case; nil searches all columns
	any    []string              // lower case; one of them must occur
}

// filterColumns are the columns by their names in a filter, which precede a colon.
var filterColumns = map[string]func(*Summary) string{
	"id":     func(b *Summary) string { return string(b.ID) },
	"state":  stateWords,
	"agent":  func(b *Summary) string { return strings.ToLower(b.Agent) },
	"repo":   func(b *Summary) string { return strings.ToLower(b.Repository) },
	"branch": func(b *Summary) string { return strings.ToLower(b.Branch) },
	"task":   func(b *Summary) string { return strings.ToLower(b.Task) },
}

// ParseFilter parses a filter as typed: words that must all occur in a session's line, in
// any case. "state:running,failed" searches one column for either word, and "-" before a
// word excludes it. Any text is valid; an unknown word before a colon is plain text.
func ParseFilter(text string) Filter {
	var f Filter
	for _, typed := range strings.Fields(strings.ToLower(text)) {
		w := condition{any: []string{typed}}
		if rest, not := strings.CutPrefix(typed, "-"); not && rest != "" {
			w.not, w.any = true, []string{rest}
		}
		if name, values, ok := strings.Cut(w.any[0], ":"); ok && filterColumns[name] != nil {
			w.column, w.any, w.states = filterColumns[name], strings.Split(values, ","), name == "state"
			if values == "" {
				continue // the value is not typed yet
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
					string(b.ID), b.Agent, b.Place(), b.Branch, b.Task, string(b.Status()),
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

// Problem explains why a word for a state in the filter can find no session: it occurs in no
// state. It is escaped, and empty if there is no such word.
func (f Filter) Problem() string {
	for _, w := range f.words {
		if !w.states {
			continue
		}
		states := filterStates()
		for _, value := range w.any {
			if !slices.ContainsFunc(states, func(state string) bool { return strings.Contains(state, value) }) {
				return `"` + termtext.Escape(value) + `" is not a state; the states are ` + strings.Join(states, ", ")
			}
		}
	}
	return ""
}

// filterStates returns the states in the words of a filter, the most useful first.
func filterStates() []string {
	words := []string{"open"}
	for _, status := range []Status{
		StatusRunning, StatusToReview, StatusFailed, StatusWaiting, StatusAsks, StatusAccepted, StatusDiscarded, StatusPartly, StatusUnchanged, StatusContinued,
		StatusQueued, StatusStarting, StatusVerifying, StatusComputing, StatusEnding, StatusEnded, StatusPaused, StatusWarm,
	} {
		words = append(words, strings.ReplaceAll(string(status), " ", "-"))
	}
	return append(words, string(session.Preparing))
}

// stateWords returns the words for a session's state: its status, its phase, and "open"
// when its work waits for a decision. Spaces in a status match "-", too, since filter
// words have no spaces.
func stateWords(b *Summary) string {
	text := string(b.Status()) + " " + string(b.Phase)
	if b.Open() {
		text += " open"
	}
	return text + " " + strings.ReplaceAll(string(b.Status()), " ", "-")
}
