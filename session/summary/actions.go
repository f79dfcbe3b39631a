package summary

import (
	"aibox/agents"
	"aibox/session"
)

// Actions are the actions that screens offer for a session because they currently apply to
// it. They are only hints: the use cases check again.
type Actions struct {
	Attach    bool // its agent has a terminal that runs or will run soon
	Enter     bool // its sandbox runs, so that it can have a shell and open ports
	Stop      bool
	Diff      bool // its changes can be shown: the final ones, or those so far
	Review    bool // it has changes to review
	Accept    bool
	Discard   bool
	Restore   bool // its work was discarded
	Remove    bool
	Workspace bool // its workspace exists and belongs to this session
	SendBack  bool // it can be resumed with feedback
	Snapshot  bool // it is a sandbox without an agent, of which a snapshot can be taken
}

// Actions returns the actions that apply to the session.
func (b *Summary) Actions() Actions {
	ended := b.Phase == session.Ended
	if b.Template != "" { // a sandbox has nothing to review
		runs := b.Phase == session.Running && !b.Paused
		return Actions{Enter: runs, Snapshot: runs, Stop: !ended, Remove: ended}
	}
	owns := ended && b.ContinuedBy == "" && b.Review != session.Discarded
	return Actions{
		Attach:    b.Interactive && !ended && b.Phase != session.Queued,
		Enter:     b.Phase == session.Running,
		Stop:      !ended,
		Diff:      b.Phase == session.Running || ended && (b.Changed || b.Unknown),
		Review:    ended && (b.Changed || b.Unknown),
		Accept:    owns && (b.Changed || b.Unknown),
		Discard:   b.Open(),
		Restore:   ended && b.ContinuedBy == "" && b.Review == session.Discarded && b.Changed,
		Remove:    ended && !b.Open() || b.Phase == session.Queued,
		Workspace: owns,
		SendBack:  owns && b.Agent != (&agents.Shell{}).Info().Name,
	}
}
