package manager

import (
	"aibox/review"
	"aibox/session"
)

// workReader reads what sessions changed, and what the user decided about it. It writes
// nothing and waits for no other process.
type workReader struct{ store session.Store }

// FinalChanges returns the change set that was computed at the session's end. Unlike
// Changes, it reads no workspace and waits for no other process.
func (s *workReader) FinalChanges(id session.ID) (*review.ChangeSet, error) {
	return s.store.ReadChanges(id)
}
