package session

import ()

// Offer is what can be done with a session as it stands. The use cases check again:
// it says what is worth a key, not what is allowed.
type Offer struct {
	Attach    bool // take part: its agent has a terminal that is alive
	Stop      bool
	Review    bool // it has changes to look at
	Accept    bool
	Discard   bool
	BringBack bool // its work was discarded
	Remove    bool
	Workspace bool // its workspace is there and its own
}

// Offer is what can be done with the session.
func (b *Brief) Offer() Offer {
	ended := b.Phase == Ended
	owns := ended && b.ContinuedBy == "" && b.Review != Discarded
	return Offer{
		Attach:    b.Interactive && !ended,
		Stop:      !ended,
		Review:    ended && (b.Changed || b.Unknown),
		Accept:    owns && (b.Changed || b.Unknown),
		Discard:   b.Open(),
		BringBack: ended && b.ContinuedBy == "" && b.Review == Discarded && b.Changed,
		Remove:    ended && !b.Open(),
		Workspace: owns,
	}
}
