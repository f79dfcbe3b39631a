package client

import (
	"context"
	"errors"
	"fmt"

	"aibox/session/control"
)

// Screen returns the current or final screen of an interactive session's terminal: lines of
// text with colors, which must pass through screen.Recolor before they are shown. Without
// a screen it returns ErrNoScreen.
func (s *supervisorClient) Screen(ctx context.Context, id ID) ([]byte, error) {
	dir := s.store.Dir(id)
	if isLocked(dir) {
		text, err := s.dial(id).Screen(ctx)
		if err == nil {
			return text, nil
		}
		if errors.Is(err, control.ErrTimeout) {
			return nil, s.unresponsiveFault(id)
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return nil, fmt.Errorf("%w: %w", ErrNoScreen, err)
		}
	}
	return s.store.ReadScreen(id)
}
