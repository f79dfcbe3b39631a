package client

import (
	"context"
	"errors"
	"fmt"

	"aibox/session"
	"aibox/session/control"
)

// Screen returns the current or final screen of an interactive session's terminal: lines of
// text with colors, which must pass through screen.Recolor before they are shown. Without
// a screen it returns session.ErrNoScreen.
func (s *Client) Screen(ctx context.Context, id session.ID) ([]byte, error) {
	dir := s.store.Dir(id)
	if session.IsLocked(dir) {
		text, err := s.dial(id).Screen(ctx)
		if err == nil {
			return text, nil
		}
		if errors.Is(err, control.ErrTimeout) {
			return nil, s.UnresponsiveFault(id)
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return nil, fmt.Errorf("%w: %w", session.ErrNoScreen, err)
		}
	}
	return s.store.ReadScreen(id)
}
