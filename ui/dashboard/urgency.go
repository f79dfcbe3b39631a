package dashboard

import (
	"time"

	"aibox/session"
	"aibox/session/summary"
)

// The urgencies, most urgent first.
const (
	asks = iota
	active
	queued
	toReview
	rest
)

var urgencies = map[summary.Status]int{
	summary.StatusAsks: asks, summary.StatusWaiting: asks, summary.StatusQueued: queued,
	summary.StatusToReview: toReview, summary.StatusPartly: toReview,
	summary.StatusFailed: rest, summary.StatusAccepted: rest, summary.StatusDiscarded: rest, summary.StatusContinued: rest, summary.StatusUnchanged: rest,
	summary.StatusEnded: rest,
}

// urgency ranks sessions: those that wait for the user come first.
func urgency(b *summary.Summary) int {
	status := b.Status()
	if status == summary.StatusFailed && b.Open() {
		return toReview // its work so far can be reviewed
	}
	if u, known := urgencies[status]; known {
		return u
	}
	return active
}

// since returns the moment that the time of a session is counted from.
func since(b *summary.Summary) time.Time {
	at := b.Started
	if b.Phase == session.Ended {
		at = b.Ended
	}
	if at.IsZero() {
		at = b.Created
	}
	return at
}
