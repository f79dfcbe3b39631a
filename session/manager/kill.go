package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// SandboxEndTimeout is how long a sandbox may take to end by itself, and the lock of a session to be
// free after its supervisor was killed.
const SandboxEndTimeout = 5 * time.Second

// Kill ends a session at once, without its supervisor, which may hang or be stopped. It
// kills the supervisor and does its work. The agent's work so far is kept. reason is for
// the record. A session that has already ended is not an error. If the agent had not
// started yet, Kill removes the session and returns its last record.
func (s *repairs) Kill(ctx context.Context, id session.ID, reason string) (session.Session, error) {
	record, err := s.store.Load(id)
	if err != nil {
		return session.Session{}, err
	}
	if session.IsLocked(s.store.Dir(id)) {
		if record.State.Supervisor.PID > 0 {
			if err := runtime.KillProcess(record.State.Supervisor); err != nil {
				return session.Session{}, fmt.Errorf("killing the supervisor of %s: %w", id, err)
			}
		}
		if err := s.awaitFree(ctx, id); err != nil {
			return session.Session{}, err
		}
	}
	err = s.endAwaited(ctx, id, fault.New(fault.Interrupted, "stopped at once: %s", reason).
		Hint("`aibox diff %s` shows the agent's work so far", id))
	if err != nil {
		return session.Session{}, fmt.Errorf("cleaning up after %s: %w", id, err)
	}
	ended, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	return ended, err
}

// endAwaited is endDead for a caller that needs the end: another command may hold the session's lock,
// for example to repair it, and fail. The error is nil if the session has ended or was removed.
func (s *repairs) endAwaited(ctx context.Context, id session.ID, cause error) error {
	for range 2 {
		if _, err := s.endDead(ctx, id, cause); err != nil {
			return err
		}
		record, err := s.store.Load(id)
		if errors.Is(err, fs.ErrNotExist) || err == nil && record.State.Phase == session.Ended {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.awaitFree(ctx, id); err != nil {
			return err
		}
	}
	return s.inUse(id)
}

// awaitFree waits until no process holds the session's lock, for SandboxEndTimeout at most.
func (s *repairs) awaitFree(ctx context.Context, id session.ID) error {
	freeing, cancel := context.WithTimeout(ctx, SandboxEndTimeout)
	defer cancel()
	err := session.AwaitFree(freeing, s.store.Dir(id))
	if err != nil && ctx.Err() == nil {
		return s.inUse(id)
	}
	return err
}

// inUse is the fault of a session whose lock another command holds for too long.
func (s *repairs) inUse(id session.ID) error {
	return fault.New(fault.Environment, "another aibox command is using %s", id).
		Hint("`fuser %s/%s` names its process", s.store.Dir(id), session.LockFile)
}

// RemainsTimeout is how long the remaining processes of a dead sandbox may take to end.
const RemainsTimeout = 2 * time.Second
