package session

import (
	"context"

	"aibox/session/output"
)

// WatchOutput says that the session's agent said something more, until the session has
// ended or ctx ends; then the channel is closed. What is said faster than it is taken
// is one. Nothing is polled: the session's supervisor notifies.
func (s *contact) WatchOutput(ctx context.Context, id ID) (<-chan struct{}, error) {
	from, err := output.Size(s.store.Dir(id)) // the record may be about to be made
	if err != nil {
		return nil, err
	}
	said := make(chan struct{}, 1)
	go func() {
		defer close(said)
		_, _ = s.Follow(ctx, id, from, func(output.Chunk) error { // the caller sees how it ended
			notify(said)
			return nil
		})
	}()
	return said, nil
}
