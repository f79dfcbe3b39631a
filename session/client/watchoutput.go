package client

import (
	"context"

	"aibox/internal/wake"
	"aibox/session"
	"aibox/session/output"
)

// WatchOutput sends on the channel when the session's agent prints more output, until the
// session or ctx ends; then it closes the channel. Notifications are merged if the caller
// receives them slowly. It does not poll: the session's supervisor sends notifications.
func (s *Client) WatchOutput(ctx context.Context, id session.ID) (<-chan struct{}, error) {
	from, err := output.Size(s.store.Dir(id)) // the record may not exist yet
	if err != nil {
		return nil, err
	}
	more := make(chan struct{}, 1)
	go func() {
		defer close(more)
		_, _ = s.Follow(ctx, id, from, func(output.Chunk) error { // the caller checks the session itself
			wake.Waiter(more)
			return nil
		})
	}()
	return more, nil
}
