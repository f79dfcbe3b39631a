package summary

import (
	"aibox/internal/amount"
	"aibox/session"
)

// Status is the state of a session in a word or two: its phase until it has ended, then
// the state of its review.
type Status string

// The statuses.
const (
	StatusQueued    Status = "queued" // it waits for its turn to start
	StatusStarting  Status = "starting"
	StatusRunning   Status = "running"
	StatusEnding    Status = "ending"    // its sandbox has ended, and its supervisor is about to store the result
	StatusComputing Status = "computing" // its agent has ended, and its changes are being computed
	StatusVerifying Status = "verifying"
	StatusAsks      Status = "asks"       // it is running, with a request that waits for an answer
	StatusWaiting   Status = "waiting"    // it is running, and its agent waits for the user, according to its terminal
	StatusToReview  Status = "to review"  // it ended with unreviewed changes
	StatusPartly    Status = "part taken" // some of its changes are accepted, the rest is undecided
	StatusAccepted  Status = "accepted"
	StatusDiscarded Status = "discarded"
	StatusContinued Status = "continued" // its work is in the session that continues it
	StatusFailed    Status = "failed"
	StatusUnchanged Status = "no changes"
	StatusWarm      Status = "warm"   // a sandbox that waits for its first user
	StatusPaused    Status = "paused" // a sandbox whose programs are stopped
	StatusEnded     Status = "ended"  // a sandbox of which only the record is left
)

// Status returns the session's status.
func (b *Summary) Status() Status {
	switch {
	case b.Phase != session.Ended && b.Phase != session.Ending && b.Waiting > 0:
		return StatusAsks
	case b.Phase == session.Running && b.Prompting:
		return StatusWaiting
	case b.Phase == session.Queued:
		return StatusQueued
	case b.Phase == session.Preparing:
		return StatusStarting
	case b.Phase == session.Running && b.Paused:
		return StatusPaused
	case b.Phase != session.Ended:
		return Status(b.Phase)
	case b.ContinuedBy != "":
		return StatusContinued
	case b.Review == session.PartlyAccepted:
		return StatusPartly
	case b.Review != session.Unreviewed:
		return Status(b.Review)
	case b.Failed:
		return StatusFailed
	case b.Template != "":
		return StatusEnded
	case b.Changed, b.Unknown:
		return StatusToReview
	default:
		return StatusUnchanged
	}
}

// Open reports whether the session has ended with work that waits for a decision,
// completely or in part.
func (b *Summary) Open() bool {
	return b.Phase == session.Ended && (b.Changed || b.Unknown) && b.ContinuedBy == "" && (b.Review == session.Unreviewed || b.Review == session.PartlyAccepted)
}

// Died says that sessions were ended because their supervisors have died; "" for none.
func Died(ended ...session.ID) string {
	switch len(ended) {
	case 0:
		return ""
	case 1:
		return "the supervisor of " + string(ended[0]) + " has died, so it was ended"
	}
	return "the supervisors of " + amount.Of(len(ended), "session") + " have died, so they were ended"
}
