package dashboard

import (
	"time"

	"aibox/session"
)

// The urgencies, most urgent first.
const (
	asks = iota
	active
	queued
	toReview
	rest
)

var urgencies = map[session.Status]int{
	session.StatusAsks: asks, session.StatusWaiting: asks, session.StatusQueued: queued,
	session.StatusToReview: toReview, session.StatusPartly: toReview,
	session.StatusFailed: rest, session.StatusAccepted: rest, session.StatusDiscarded: rest, session.StatusContinued: rest, session.StatusUnchanged: rest,
	session.StatusEnded: rest,
}

// urgency ranks sessions: those that wait for the user come first.
func urgency(b *session.Summary) int {
	status := b.Status()
	if status == session.StatusFailed && b.Open() {
		return toReview // its work so far can be reviewed
	}
	if u, known := urgencies[status]; known {
		return u
	}
	return active
}

// since returns the moment that the time of a session is counted from.
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
