package client

import (
	"context"
	"errors"
	"io/fs"

	"aibox/session"
	"aibox/session/output"
)

// Scrollback returns the scrollback of a session's terminal. It returns session.ErrNoScreen if
// there never was one, or that its supervisor died before anything scrolled off.
func (s *Client) Scrollback(ctx context.Context, id session.ID) (*output.Scrollback, error) {
	shown, screenErr := s.Screen(ctx, id)
	if screenErr != nil && !errors.Is(screenErr, session.ErrNoScreen) {
		return nil, screenErr
	}
	p, err := output.OpenScrollback(s.store.Dir(id), shown)
	if errors.Is(err, fs.ErrNotExist) && screenErr != nil {
		return nil, screenErr
	}
	return p, err
}
