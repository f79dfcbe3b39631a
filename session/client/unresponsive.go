package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"aibox/internal/delay"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
)

// A supervisor can be stopped (SIGSTOP), or hang. The kernel still accepts connections for
// it, so it can only be detected by a timeout. Its sandbox keeps running, guarded by its
// watchdog, and Kill of package manager ends it.

const (
	// firstPing is the time from the start of a call to the first ping. Most calls end
	// earlier, and a ping takes time of the supervisor and its client.
	firstPing = 500 * time.Millisecond
	// pingInterval is the time between two pings of a supervisor that answers.
	pingInterval = 3 * time.Second
)

// whileResponsive runs call, which waits for the session's supervisor, and cancels it with
// a fault if the supervisor stops answering.
func (s *Client) whileResponsive(ctx context.Context, id session.ID, call func(context.Context) error) error {
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := false
	var asking sync.WaitGroup
	asking.Go(func() {
		if silent = s.awaitUnresponsive(calling, id); silent {
			cancel()
		}
	})
	err := call(calling)
	cancel()
	asking.Wait()
	if err != nil && ctx.Err() == nil && (silent || errors.Is(err, control.ErrTimeout) && s.unresponsive(ctx, id)) {
		return s.UnresponsiveFault(id)
	}
	return err
}

// sendPatiently is like send, but for a call that waits for the sandbox, such as for the
// end of a snapshot. It waits as long as the supervisor answers pings.
func (s *Client) sendPatiently(ctx context.Context, id session.ID, send func(context.Context, control.Client) error) error {
	return s.whileResponsive(ctx, id, func(ctx context.Context) error {
		return s.send(id, func(c control.Client) error { return send(ctx, c.Patient()) })
	})
}

// awaitUnresponsive waits until the session's supervisor stops answering. It returns false
// if ctx ends first.
func (s *Client) awaitUnresponsive(ctx context.Context, id session.ID) bool {
	for delay.Wait(ctx, firstPing); ctx.Err() == nil; {
		if s.unresponsive(ctx, id) {
			return ctx.Err() == nil
		}
		delay.Wait(ctx, pingInterval)
	}
	return false
}

// unresponsive reports whether the session's supervisor does not answer. A supervisor that
// is opening its socket or ending does not count as unresponsive.
func (s *Client) unresponsive(ctx context.Context, id session.ID) bool {
	for range control.Attempts {
		err := s.dial(id).Ping(ctx)
		if err != nil && ctx.Err() == nil && s.SupervisorStopped(id) {
			return true
		}
		if !errors.Is(err, control.ErrTimeout) {
			return false
		}
	}
	return true
}

// SupervisorStopped reports whether the session's supervisor is known to be stopped by a signal.
func (s *Client) SupervisorStopped(id session.ID) bool {
	record, err := s.store.Load(id)
	return err == nil && record.State.Supervisor.Stopped()
}

// UnresponsiveFault returns the fault for a session whose supervisor does not answer.
func (s *Client) UnresponsiveFault(id session.ID) error {
	failed := fault.New(fault.Environment, "the supervisor of %s does not answer", id)
	if record, err := s.store.Load(id); err == nil && record.State.Supervisor.Stopped() {
		failed = fault.New(fault.Environment, "the supervisor of %s was stopped by a signal", id).
			Hint("`kill -CONT %d` continues it", record.State.Supervisor.PID)
	}
	return failed.Hint("`aibox stop --force %s` ends the session without it; the agent's work so far is kept", id)
}
