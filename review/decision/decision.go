// Package decision holds a review in progress: the changed files and hunks of a session,
// the user's decision about each, and the resulting choice. It also turns paths and hunk
// ids into a part of a change set. The review screen and `aibox accept --interactive` show
// it and map keys to it. It knows neither terminals nor sessions. It delivers nothing and
// stores nothing.
package decision

import (
	"errors"
)

// Decision is the user's decision about a hunk. The zero value is Undecided.
type Decision int

// The decisions. Only Accepted delivers a hunk, and only Rejected is feedback for the
// agent; Skipped leaves a hunk out without feedback.
const (
	Undecided Decision = iota
	Accepted
	Rejected
	Skipped
	Partial // some lines are accepted, the others left out; see Draft.DecideLines
	numDecisions
)

// String returns the decision in lower case.
func (d Decision) String() string {
	return [numDecisions]string{"undecided", "accepted", "rejected", "skipped", "partly accepted"}[d]
}

// ErrRisks means that a hunk was not accepted because its file has risks that the user
// has not agreed to.
var ErrRisks = errors.New("the file has risks")

// Size counts added and deleted lines.
type Size struct{ Added, Deleted int }

func (s Size) plus(other Size) Size { return Size{s.Added + other.Added, s.Deleted + other.Deleted} }

func (s Size) minus(other Size) Size { return Size{s.Added - other.Added, s.Deleted - other.Deleted} }
