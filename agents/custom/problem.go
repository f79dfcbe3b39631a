package custom

import (
	"cmp"
	"fmt"
	"slices"
)

// Problem is one thing that is wrong with an agent file.
type Problem struct {
	Line   int    `json:"line"`   // from 1; 0 when it is about the file as a whole
	Column int    `json:"column"` // from 1, in bytes
	Text   string `json:"text"`   // one sentence without a full stop, safe for a terminal
	Hint   string `json:"hint,omitempty"`
}

// String is the problem with where it is.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
}

// Error is all that is wrong with an agent file, in the order of the file. It
// holds at least one problem.
type Error struct{ Problems []Problem }

// Error is the first problem, and how many follow.
func (e *Error) Error() string {
	first := e.Problems[0].String()
	switch more := len(e.Problems) - 1; more {
	case 0:
		return first
	case 1:
		return first + " (and 1 more problem)"
	default:
		return fmt.Sprintf("%s (and %d more problems)", first, more)
	}
}

// sorted puts problems into the order of the file. What it lacks comes last: a
// misspelled key is more helpful than the key that is missing because of it.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(problems)
}
