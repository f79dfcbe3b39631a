package client

import (
	"context"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
)

// Answer answers a request of a running session. A request can be answered once; the fault
// for one that is no longer open has the cause session.ErrWrongState.
func (s *Client) Answer(ctx context.Context, id session.ID, request int, answer session.Answer) error {
	return s.send(id, func(c control.Client) error { return c.Answer(ctx, request, string(answer), answer.Allows()) })
}

// Extend extends the time limit of a running session. It also answers the session's own
// request for time, if there is one.
func (s *Client) Extend(ctx context.Context, id session.ID, by time.Duration) error {
	err := s.send(id, func(c control.Client) error { return c.Extend(ctx, by) })
	if errors.Is(err, session.ErrWrongState) && id.Agent() != session.SandboxAgent { // nothing continues a sandbox
		ended := fault.New(fault.Usage, "%s has ended, so it cannot be given more time", id)
		record, unread := s.store.Load(id)
		switch {
		case unread != nil:
			return ended
		case record.Alive: // its supervisor says why
			return err
		}
		return ended.Hint("`%s` continues its work", session.ResumeCommand(id, record.Agent))
	}
	return err
}

// send calls the supervisor of a session. The fault for a session that is not running has
// the cause session.ErrWrongState.
func (s *Client) send(id session.ID, send func(control.Client) error) error {
	dir := s.store.Dir(id)
	err := control.ErrNoSupervisor
	if session.IsLocked(dir) {
		err = send(s.dial(id))
	}
	var refused *control.RefusedError
	switch {
	case errors.As(err, &refused):
		failed := refusal(refused)
		if len(failed.Hints) == 0 && failed.Kind != fault.Refused { // no status explains a refusal
			failed = failed.Hint("`aibox ls` shows the status of %s", id)
		}
		return failed
	case errors.Is(err, control.ErrTimeout):
		return s.UnresponsiveFault(id)
	case errors.Is(err, control.ErrNoSupervisor):
		return session.WrongState("%s is no longer running", id).Hint("`aibox ls` shows its status")
	default:
		return err
	}
}

// refusal returns the fault for a supervisor's refusal, with its hints.
func refusal(refused *control.RefusedError) *fault.Fault {
	f := fault.New(refused.Kind(), "%s", refused.Message)
	if f.Kind == fault.Conflict {
		f = session.WrongState("%s", refused.Message)
	}
	for _, hint := range refused.Hints {
		f = f.Hint("%s", hint)
	}
	return f
}
