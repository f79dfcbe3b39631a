package custom

import (
	"cmp"
	"fmt"
	"slices"

	"aibox/internal/sorting"
)

// Problem is one error in an agent file.
type Problem struct {
	Line   int    `json:"line"`   // from 1; 0 when it is about the file as a whole
	Column int    `json:"column"` // from 1, in bytes
	Text   string `json:"text"`   // one sentence without a full stop, safe for a terminal
	Hint   string `json:"hint,omitempty"`
}

// String returns the problem with its position.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
}

// Error has the problems of an agent file, at least one, in file order.
type Error struct{ Problems []Problem }

// Error returns the first problem and the number of others.
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

// sortProblems sorts problems by position. Those without one, such as missing keys, come
// last: a misspelled key is more helpful than the key that is missing because of it.
func sortProblems(problems []Problem) []Problem {
	sorting.StableFunc(problems, func(a, b *Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(problems)
}
