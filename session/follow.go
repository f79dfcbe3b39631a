package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/delay"
	"aibox/internal/fault"
	"aibox/session/control"
	"aibox/session/output"
)

// reader reads the records of sessions. It changes nothing and talks to no supervisor.
type reader struct{ store Store }

// List returns all sessions, oldest first. It omits damaged ones and names them in the
// error, which may accompany a list.
func (s *reader) List() ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	return s.load(ids)
}

// load returns the sessions with the ids, without those that do not exist. It omits damaged
// ones and names them in the error.
func (s *reader) load(ids []ID) ([]Session, error) {
	loaded := make([]Session, len(ids))
	errs := make([]error, len(ids))
	workers := runtime.GOMAXPROCS(0)
	var reading sync.WaitGroup
	for worker := range workers {
		reading.Go(func() {
			for i := worker; i < len(ids); i += workers {
				loaded[i], errs[i] = s.store.Load(ids[i])
			}
		})
	}
	reading.Wait()
	sessions := loaded[:0]
	position := 0
	for i, session := range loaded {
		if errors.Is(errs[i], fs.ErrNotExist) {
			errs[i] = nil // the session is about to be created, or just removed
			continue
		}
		if errs[i] == nil {
			if session.State.Phase == Queued && !session.ID.Hidden() {
				position++
				session.Position = position
			}
			sessions = append(sessions, session)
		}
	}
	return sessions, errors.Join(errs...)
}

// Find returns the session that text names: an id or a unique prefix.
func (s *reader) Find(text string) (Session, error) {
	id, err := s.store.resolve(text)
	if err != nil {
		return Session{}, err
	}
	session, err := s.store.Load(id)
	if err == nil && session.State.Phase == Queued {
		session.Position = s.store.queuePosition(id)
	}
	return session, err
}

// contact talks to the supervisors of running sessions.
type contact struct {
	*reader
	store Store
}

// Follow visits the session's output from the byte offset from on, until the session has
// ended: first the recorded output, then the new output. It returns the ended session. If
// the supervisor dies, it returns an error of kind Internal after it has visited everything
// recorded.
func (s *contact) Follow(ctx context.Context, id ID, from int64, visit func(output.Chunk) error) (Session, error) {
	dir, finished := s.store.Dir(id), false
	for isLocked(dir) {
		err := s.whileResponsive(ctx, id, func(ctx context.Context) (err error) {
			from, err = s.store.dial(id).Output(ctx, from, visit)
			return err
		})
		finished = err == nil
		if finished {
			// The output is complete, and the state on disk is final. The supervisor still
			// cleans up; a command that changes the session waits for that (withEnded).
			break
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return Session{}, err
		}
		// The supervisor will open its socket soon, or its lock will be free.
		select {
		case <-time.After(reconnectPause):
		case <-ctx.Done():
			return Session{}, ctx.Err()
		}
	}
	if _, err := output.Read(dir, from, true, visit); err != nil {
		return Session{}, err
	}
	session, err := s.store.Load(id)
	if err != nil {
		return Session{}, err
	}
	if finished && session.State.Phase != Ended { // the session has ended, and its supervisor could not store that
		return session, fault.New(fault.Environment, "the end of %s could not be stored", id).
			Hint("check whether the disk of %s is full: df -h %s", s.store.root, s.store.root).
			Hint("the next aibox command that finds room stores the known result; the work is kept")
	}
	if session.State.Phase != Ended {
		return session, fault.New(fault.Internal, "the session's supervisor died").
			Hint("the next aibox command repairs the session; its work and its record are kept")
	}
	return session, nil
}

// reconnectPause is the time between two attempts to reach a supervisor.
const reconnectPause = 50 * time.Millisecond

// Output visits the output recorded so far, from the byte offset from on, and returns the
// offset of its end.
func (s *reader) Output(id ID, from int64, visit func(output.Chunk) error) (int64, error) {
	return output.Read(s.store.Dir(id), from, true, visit)
}

// Events visits the session's audit events in order. A damaged log is audit.ErrBroken.
func (s *reader) Events(id ID, visit func(audit.Event) error) error {
	return audit.Read(s.auditPath(id), visit)
}

// Stop ends a running session and waits until it has ended. reason is for the record. A
// session that has already ended is not an error. If the session was queued while a client
// waited, or is a warm sandbox, it is removed, and Stop returns its last record. If the
// supervisor does not answer, the error suggests Kill.
func (s *contact) Stop(ctx context.Context, id ID, reason string) (Session, error) {
	return s.StopWithin(ctx, id, reason, 0)
}

// StopWithin is Stop with a grace period for the agent to end by itself; 0 means the
// default.
func (s *contact) StopWithin(ctx context.Context, id ID, reason string, grace time.Duration) (Session, error) {
	dir := s.store.Dir(id)
	last, _ := s.store.Load(id)
	if isLocked(dir) {
		if err := s.requestStop(ctx, id, reason, grace); err != nil {
			return Session{}, fmt.Errorf("stopping %s: %w", id, err)
		}
		err := s.whileResponsive(ctx, id, func(ctx context.Context) error { return awaitFree(ctx, dir) })
		if err != nil {
			return Session{}, fmt.Errorf("waiting for the end of %s: %w", id, err)
		}
	}
	ended, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) && (last.State.Phase == Queued || last.State.Phase == Warm) {
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
func (s *contact) requestStop(ctx context.Context, id ID, reason string, grace time.Duration) error {
	giveUp := time.Now().Add(endTimeout)
	for {
		err := s.store.dial(id).Stop(ctx, reason, grace)
		if errors.Is(err, control.ErrTimeout) {
			return nil
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return err
		}
		now, _ := s.store.Load(id)
		if now.State.Phase == Ended || !isLocked(s.store.Dir(id)) {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(giveUp) {
			return err
		}
		delay.Wait(ctx, reconnectPause)
	}
}

// Signal sends a signal to the session's agent.
func (s *contact) Signal(ctx context.Context, id ID, number int) error {
	return s.store.dial(id).Signal(ctx, number)
}

// awaitFree waits until no process holds the session. It polls, because the kernel does
// not report the release of a lock.
func awaitFree(ctx context.Context, dir string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for isLocked(dir) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
