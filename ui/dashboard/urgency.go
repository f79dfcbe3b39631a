package dashboard

import (
	"time"

	"aibox/session"
)

// The urgencies that are counted in the head.
const (
	asks = iota
	active
	toReview
	failed
	rest
)

var urgencies = map[session.Status]int{
	session.StatusAsks:     asks,
	session.StatusToReview: toReview, session.StatusPartly: toReview,
	session.StatusFailed:   failed,
	session.StatusAccepted: rest, session.StatusDiscarded: rest, session.StatusContinued: rest, session.StatusUnchanged: rest,
}

// urgency ranks sessions: those that run and those to review come first.
func urgency(b *session.Summary) int {
	status := b.Status()
	if status == session.StatusFailed && b.Open() {
		return toReview // what it did until then waits, too
	}
	if u, known := urgencies[status]; known {
		return u
	}
	return active
}

// since returns when what the time of a session is counted from was.
func since(b *session.Summary) time.Time {
	at := b.Started
	if b.Phase == session.Ended {
		at = b.Ended
	}
	if at.IsZero() {
		at = b.Created
	}
	return at
}
