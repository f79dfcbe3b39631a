package summary

import (
	"aibox/agents"
	"aibox/session"
)

// Need is what an action needs of a session, apart from the state of its work.
type Need int

// The needs.
const (
	NeedsWork         Need = iota // only its work
	NeedsSandbox                  // a running sandbox
	NeedsConversation             // an agent whose conversation can continue
)

// Obstacle returns a clause that says why an action that Actions does not offer does not apply to the
// session: "0dq4f-codex is still running".
func (b *Summary) Obstacle(need Need) string {
	id := string(b.ID)
	switch {
	case b.Phase == session.Queued, b.Phase == session.Preparing:
		return id + " has not started yet"
	case b.Phase == session.Ended && need == NeedsSandbox:
		return id + " has ended"
	case b.Phase != session.Ended && b.Phase != session.Running:
		return id + " is ending"
	case b.Paused && need == NeedsSandbox:
		return id + " is paused"
	case b.Template != "":
		return id + " is a sandbox without an agent"
	case b.Phase == session.Running && need == NeedsSandbox:
		return id + " is the session of an agent"
	case b.Phase != session.Ended:
		return id + " is still running"
	case b.ContinuedBy != "":
		return id + " is continued by " + string(b.ContinuedBy)
	case b.Review == session.Discarded:
		return "the work of " + id + " is discarded"
	case need == NeedsConversation && b.Agent == (&agents.Shell{}).Info().Name:
		return b.Agent + " has no conversation to continue"
	case !b.Changed && !b.Unknown:
		return id + " changed nothing"
	case b.Open():
		return "the work of " + id + " waits for a review"
	default:
		return "the work of " + id + " is accepted"
	}
}
