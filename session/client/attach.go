package client

import (
	"context"
	"errors"

	"aibox/internal/delay"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/control"
)

// Attach attaches a terminal of the given size to a running interactive session. It
// returns ErrNotAttached when the session has ended or its supervisor died. Any number of
// terminals may be attached; the smallest one sets the size.
func (s *Client) Attach(ctx context.Context, id session.ID, size screen.Size, colors screen.Colors) (*control.Attachment, error) {
	for more := s.mayReach(id); more(); {
		attachment, err := s.dial(id).Attach(ctx, size, colors)
		if errors.Is(err, control.ErrTimeout) {
			return nil, s.UnresponsiveFault(id)
		}
		if err == nil {
			attachment.OnTimeout(func() error { return s.UnresponsiveFault(id) })
		}
		if err == nil || !errors.Is(err, control.ErrNoSupervisor) {
			return attachment, err
		}
		delay.Wait(ctx, reconnectPause) // its socket will open soon, or the session will end
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, ErrNotAttached
}

// ErrNotAttached reports that a session no longer has a terminal to attach to.
var ErrNotAttached = errors.New("the session is not running")
