package session

import (
	"context"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session/control"
)

// Answer answers a request of a running session. A request can be answered once; one that
// is no longer open is a Conflict.
func (s *contact) Answer(ctx context.Context, id ID, request int, answer Answer) error {
	return s.send(id, func(c control.Client) error { return c.Answer(ctx, request, string(answer), answer.Allows()) })
}

// Extend extends the time limit of a running session. It also answers the session's own
// request for time, if there is one. A session that has ended is a Usage fault, since
// nothing can extend it.
func (s *contact) Extend(ctx context.Context, id ID, by time.Duration) error {
	err := s.send(id, func(c control.Client) error { return c.Extend(ctx, by) })
	if fault.KindOf(err) == fault.Conflict {
		return fault.New(fault.Usage, "%s has ended, so it cannot be given more time", id).
			Hint("`aibox run --resume %s` continues its work", id)
	}
	return err
}

// send calls the supervisor of a session, which must be running.
func (s *contact) send(id ID, send func(control.Client) error) error {
	dir := s.store.Dir(id)
	err := control.ErrNoSupervisor
	if isLocked(dir) {
		err = send(s.store.dial(id))
	}
	var refused *control.RefusedError
	switch {
	case errors.As(err, &refused):
		failed := fault.New(refused.Kind(), "%s", refused.Message)
		for _, hint := range refused.Hints {
			failed = failed.Hint("%s", hint)
		}
		if len(refused.Hints) == 0 {
			failed = failed.Hint("`aibox ls` shows the status of %s", id)
		}
		return failed
	case errors.Is(err, control.ErrTimeout):
		return s.unresponsiveFault(id)
	case errors.Is(err, control.ErrNoSupervisor):
		return fault.New(fault.Conflict, "%s is no longer running", id).Hint("`aibox ls` shows its status")
	default:
		return err
	}
}
