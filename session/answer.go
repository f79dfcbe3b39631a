package session

import (
	"context"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session/control"
)

// Answer is the user's word on a request of a running session. It counts once: a
// request that is not open any more is a Conflict.
func (s *contact) Answer(ctx context.Context, id ID, request int, yes bool) error {
	return s.send(id, func(c control.Client) error { return c.Answer(ctx, request, yes) })
}

// Extend gives a running session more time. It answers the session's own request
// for that, if there is one.
func (s *contact) Extend(ctx context.Context, id ID, by time.Duration) error {
	return s.send(id, func(c control.Client) error { return c.Extend(ctx, by) })
}

// send sends a word to the supervisor of a session that has to run.
func (s *contact) send(id ID, send func(control.Client) error) error {
	dir := s.store.Dir(id)
	err := control.ErrNoSupervisor
	if isLocked(dir) {
		err = send(s.store.dial(id))
	}
	var said *control.RefusedError
	switch {
	case errors.As(err, &said):
		return fault.New(said.Kind(), "%s", said.Message).Hint("`aibox ls` shows the status of %s", id)
	case errors.Is(err, control.ErrTimeout):
		return s.unresponsiveFault(id)
	case errors.Is(err, control.ErrNoSupervisor):
		return fault.New(fault.Conflict, "%s does not run any more", id).Hint("`aibox ls` shows its status")
	default:
		return err
	}
}
