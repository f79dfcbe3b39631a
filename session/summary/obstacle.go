package summary

import (
	"aibox/agents"
	"aibox/session"
)

// Need is what an action needs of a session.
type Need int

// The needs. Each is that of the field of Actions with the same name, except for NeedsSandbox, which is that of
// Enter, and NeedsEnd, which is only that the session has ended.
const (
	NeedsSandbox Need = iota
	NeedsStop
	NeedsSnapshot
	NeedsEnd
	NeedsDiff
	NeedsReview
	NeedsAccept
	NeedsDiscard
	NeedsRestore
	NeedsRemove
	NeedsWorkspace
	NeedsSendBack
	needs // their number
)

// Meets reports whether the session offers an action with the need.
func (b *Summary) Meets(need Need) bool {
	can := b.Actions()
	return [needs]bool{
		NeedsSandbox: can.Enter, NeedsStop: can.Stop, NeedsSnapshot: can.Snapshot, NeedsEnd: b.Phase == session.Ended,
		NeedsDiff: can.Diff, NeedsReview: can.Review, NeedsAccept: can.Accept, NeedsDiscard: can.Discard, NeedsRestore: can.Restore,
		NeedsRemove: can.Remove, NeedsWorkspace: can.Workspace, NeedsSendBack: can.SendBack,
	}[need]
}

// beforeEnd reports whether the action is one on a session that has not ended.
func (n Need) beforeEnd() bool { return n == NeedsSandbox || n == NeedsStop || n == NeedsSnapshot }

// Obstacle returns what Summary.Obstacle does, or that the supervisor of a session that has not ended has died. A
// summary does not show that. It returns the latter also for an action that Actions offers.
func Obstacle(s *session.Session, need Need) string {
	b := Of(s)
	if why := b.obstacleOfKind(need); why != "" {
		return why
	}
	if !s.Alive && b.Phase != session.Ended {
		return "the supervisor of " + string(b.ID) + " has died"
	}
	return b.Obstacle(need)
}

// Obstacle returns a clause that says why an action does not apply to the session: "0dq4f-codex is still
// running". It returns "" for an action that Actions offers.
func (b *Summary) Obstacle(need Need) string {
	id := string(b.ID)
	if b.Meets(need) {
		return ""
	}
	if why := b.obstacleOfKind(need); why != "" {
		return why
	}
	switch {
	case b.Phase == session.Ended && need.beforeEnd():
		return id + " has ended"
	case b.Phase == session.Ended:
		return b.obstacleAfterEnd(need)
	case b.Phase == session.Queued, b.Phase == session.Preparing:
		return id + " has not started yet"
	case b.Phase == session.Warm:
		return id + " waits for its first user"
	case b.Phase != session.Running:
		return id + " is ending"
	case b.Paused:
		return id + " is paused"
	default:
		return id + " is still running"
	}
}

// obstacleOfKind is Obstacle for an action that never applies to this kind of session.
func (b *Summary) obstacleOfKind(need Need) string {
	switch need {
	case NeedsSandbox, NeedsStop, NeedsRemove, NeedsEnd:
	case NeedsSnapshot:
		if b.Template == "" {
			return string(b.ID) + " is the session of an agent"
		}
	default:
		if b.Template != "" {
			return string(b.ID) + " is a sandbox without an agent"
		}
	}
	return ""
}

// obstacleAfterEnd is Obstacle for an ended session and an action on its work.
func (b *Summary) obstacleAfterEnd(need Need) string {
	id := string(b.ID)
	unchanged := id + " changed nothing"
	switch {
	case need == NeedsRemove:
		return "the work of " + id + " waits for a review"
	case need == NeedsDiff, need == NeedsReview:
		return unchanged
	case b.ContinuedBy != "":
		return id + " is continued by " + string(b.ContinuedBy)
	case need == NeedsRestore && b.Review != session.Discarded:
		return "the work of " + id + " is not discarded"
	case need == NeedsRestore && b.Unknown:
		return "the changes of " + id + " are unknown"
	case need == NeedsRestore:
		return unchanged
	case b.Review == session.Discarded:
		return "the work of " + id + " is discarded"
	case need == NeedsSendBack && b.Agent == (&agents.Shell{}).Info().Name:
		return b.Agent + " has no conversation to continue"
	case !b.Changed && !b.Unknown:
		return unchanged
	default:
		return "the work of " + id + " is accepted"
	}
}
