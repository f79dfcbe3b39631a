package session

import (
	"context"
	"errors"

	"aibox/internal/screen"
	"aibox/session/control"
)

// Attach shows the terminal of a running interactive session on a terminal of this
// size. A session that has ended, or whose supervisor died, is ErrNotAttached.
// Any number of terminals may show one session: it has the size of the smallest.
func (s *contact) Attach(ctx context.Context, id ID, size screen.Size, colors screen.Colors) (*control.Attachment, error) {
	dir := s.store.Dir(id)
	for isLocked(dir) {
		attachment, err := s.store.dial(id).Attach(ctx, size, colors)
		if errors.Is(err, control.ErrTimeout) {
			return nil, s.unresponsiveFault(id)
		}
		if err == nil {
			attachment.OnTimeout(func() error { return s.unresponsiveFault(id) })
		}
		if err == nil || !errors.Is(err, control.ErrNoSupervisor) {
			return attachment, err
		}
		pause(ctx, reconnectPause) // it is about to open its socket, or about to end
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, ErrNotAttached
}

// ErrNotAttached says that a session has no terminal any more to attach to.
var ErrNotAttached = errors.New("the session does not run")
