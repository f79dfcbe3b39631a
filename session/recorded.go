package session

import (
	"aibox/session/output"
)

// Recorded is the number of bytes that are recorded of a session's output now.
func (s *reader) Recorded(id ID) (int64, error) { return output.Size(s.store.Dir(id)) }

// Tail is at most the last limit bytes of what the agent said, both streams in the
// order in which they came, raw. A session without output has none.
func (s *reader) Tail(id ID, limit int64) ([]byte, error) {
	return output.Tail(s.store.Dir(id), limit)
}
