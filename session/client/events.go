package client

import (
	"context"
	"errors"

	"aibox/audit"
	"aibox/internal/delay"
	"aibox/session"
	"aibox/session/control"
)

// Logged visits the events in the log of a session so far. A damaged log is audit.ErrBroken,
// after the events before the damage.
func (s *Client) Logged(id session.ID, visit func(audit.Event) error) error {
	return audit.Read(s.store.AuditPath(id), visit)
}

// Watch visits the session's events from the number from on, until the session has ended:
// first the past events, then the new ones. It visits each event of the log once and in
// order, even if the supervisor dies. Between them it visits session.LiveChanged events: one at the
// start if the session runs, and one at the end. A damaged log is audit.ErrBroken.
func (s *Client) Watch(ctx context.Context, id session.ID, from int, visit func(audit.Event) error) error {
	each := func(e audit.Event) error {
		if e.Seq >= 0 {
			from = e.Seq + 1
		}
		return visit(e)
	}
	for more := s.mayReach(id); more(); {
		err := s.dial(id).Events(ctx, from, each)
		if err == nil {
			break
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return err
		}
		delay.Wait(ctx, reconnectPause) // its socket will open soon, or the session will end
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	err := audit.Read(s.store.AuditPath(id), func(e audit.Event) error {
		if e.Seq < from {
			return nil
		}
		return visit(e)
	})
	if err != nil {
		return err
	}
	live, err := s.Live(id)
	if err != nil {
		return err
	}
	e, err := session.LiveEvent(live)
	if err != nil {
		return err
	}
	return visit(e)
}
