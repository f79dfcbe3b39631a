package session

// Actions is what can be done with a session now. The use cases check again:
// it says what is worth a key, not what is allowed.
type Actions struct {
	Attach    bool // take part: its agent has a terminal that is alive
	Stop      bool
	Review    bool // it has changes to look at
	Accept    bool
	Discard   bool
	Restore   bool // its work was discarded
	Remove    bool
	Workspace bool // its workspace is there and its own
}

// Actions is what can be done with the session.
func (b *Summary) Actions() Actions {
	ended := b.Phase == Ended
	owns := ended && b.ContinuedBy == "" && b.Review != Discarded
	return Actions{
		Attach:    b.Interactive && !ended,
		Stop:      !ended,
		Review:    ended && (b.Changed || b.Unknown),
		Accept:    owns && (b.Changed || b.Unknown),
		Discard:   b.Open(),
		Restore:   ended && b.ContinuedBy == "" && b.Review == Discarded && b.Changed,
		Remove:    ended && !b.Open(),
		Workspace: owns,
	}
}
