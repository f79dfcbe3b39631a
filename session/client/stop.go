package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"aibox/internal/delay"
	"aibox/session"
	"aibox/session/control"
)

// Stop ends a running session and waits until it has ended. reason is for the record. A
// session that has already ended is not an error. If the session's agent had not started, or it
// is a warm sandbox, it is removed, unless it was queued and no client waited, and Stop returns
// its last record. If the supervisor does not answer, the error suggests `aibox stop --force`.
func (s *Client) Stop(ctx context.Context, id session.ID, reason string) (session.Session, error) {
	return s.StopWithin(ctx, id, reason, 0)
}

// StopWithin is Stop with a grace period for the agent to end by itself; 0 means the
// default.
func (s *Client) StopWithin(ctx context.Context, id session.ID, reason string, grace time.Duration) (session.Session, error) {
	dir := s.store.Dir(id)
	last, _ := s.store.Load(id)
	if session.IsLocked(dir) {
		if err := s.requestStop(ctx, id, reason, grace); err != nil {
			return session.Session{}, fmt.Errorf("stopping %s: %w", id, err)
		}
		err := s.whileResponsive(ctx, id, func(ctx context.Context) error { return s.awaitEnd(ctx, id) })
		if err != nil {
			return session.Session{}, fmt.Errorf("waiting for the end of %s: %w", id, err)
		}
	}
	ended, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) && slices.Contains([]session.Phase{session.Queued, session.Preparing, session.Warm}, last.State.Phase) {
		return last, nil
	}
	return ended, err
}

// endTimeout is how long a supervisor that has closed its socket may take to store the
// session's end.
const endTimeout = 10 * time.Second

// requestStop requests the end of the session. The error is nil if the supervisor has the
// request, will read it later because it is slow, or is ending. A supervisor that is ending
// closes its socket and its connections before it stores the end.
func (s *Client) requestStop(ctx context.Context, id session.ID, reason string, grace time.Duration) error {
	giveUp := time.Now().Add(endTimeout)
	for {
		err := s.dial(id).Stop(ctx, reason, grace)
		if errors.Is(err, control.ErrTimeout) {
			return nil
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return err
		}
		now, _ := s.store.Load(id)
		if now.State.Phase == session.Ended || !session.IsLocked(s.store.Dir(id)) {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(giveUp) {
			return err
		}
		delay.Wait(ctx, reconnectPause)
	}
}

// awaitEnd waits until the session's supervisor has ended and its lock is free. If the supervisor is
// gone, another command may hold the lock of the ended session for minutes, which awaitEnd does not
// wait for.
func (s *Client) awaitEnd(ctx context.Context, id session.ID) error {
	return session.AwaitFreeUnless(ctx, s.store.Dir(id), func() bool {
		if !s.store.Ended(id) {
			return false
		}
		record, err := s.store.Load(id)
		return err == nil && !record.State.Supervisor.Alive()
	})
}

// Signal sends a signal to the session's agent.
func (s *Client) Signal(ctx context.Context, id session.ID, number int) error {
	return s.send(id, func(c control.Client) error { return c.Signal(ctx, number) })
}
