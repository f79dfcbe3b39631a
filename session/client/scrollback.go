package client

import (
	"context"
	"errors"
	"io/fs"

	"aibox/session/output"
)

// Scrollback returns the scrollback of a session's terminal. It returns ErrNoScreen if
// there never was one, or that its supervisor died before anything scrolled off.
func (s *supervisorClient) Scrollback(ctx context.Context, id ID) (*output.Scrollback, error) {
	shown, screenErr := s.Screen(ctx, id)
	if screenErr != nil && !errors.Is(screenErr, ErrNoScreen) {
		return nil, screenErr
	}
	p, err := output.OpenScrollback(s.store.Dir(id), shown)
	if errors.Is(err, fs.ErrNotExist) && screenErr != nil {
		return nil, screenErr
	}
	return p, err
}
