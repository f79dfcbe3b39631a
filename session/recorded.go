package session

import (
	"aibox/session/output"
)

// Recorded returns the number of recorded bytes of a session's output.
func (s *reader) Recorded(id ID) (int64, error) { return output.Size(s.store.Dir(id)) }

// Tail returns at most the last limit bytes of the agent's output, both streams in order
// of arrival, raw. It is empty for a session without output.
func (s *reader) Tail(id ID, limit int64) ([]byte, error) {
	return output.Tail(s.store.Dir(id), limit)
}
