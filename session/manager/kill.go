package manager

import (
	"cmp"
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
// the record. A session that has already ended is not an error, and Kill ends its sandbox if that
// still runs. If the agent had not started yet, Kill removes the session and returns its last record.
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
		freeing, cancel := context.WithTimeout(ctx, SandboxEndTimeout)
		defer cancel()
		if session.AwaitFree(freeing, s.store.Dir(id)) != nil {
			named := inUse(id).Hint("`fuser %s/%s` names its process", s.store.Dir(id), session.LockFile)
			return session.Session{}, cmp.Or[error](ctx.Err(), named)
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
	if err != nil || !ended.State.Sandbox.Alive() {
		return ended, err
	}
	// Its supervisor could not end it.
	if err := runtime.EndProcess(ended.State.Sandbox); err != nil {
		return ended, fault.New(fault.Environment, "the sandbox of %s (process %d) cannot be ended: %w", id, ended.State.Sandbox.PID, err)
	}
	return ended, nil
}

// endingTimeout is how long another command may take to end a session, on a slow Docker too.
const endingTimeout = time.Minute

// endAwaited is endDead for a caller that needs the end: another command may hold the session's lock,
// for example to repair it, and fail. The error is nil if the session has ended or was removed.
func (s *repairs) endAwaited(ctx context.Context, id session.ID, cause error) error {
	ending, cancel := context.WithTimeout(ctx, endingTimeout)
	defer cancel()
	for ending.Err() == nil {
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
		_ = session.AwaitFree(ending, s.store.Dir(id)) // if it is not free, the time is over
	}
	return cmp.Or[error](ctx.Err(), inUse(id))
}

// inUse is the fault of a session whose lock another command holds for too long.
func inUse(id session.ID) *fault.Fault {
	return fault.New(fault.Environment, "another aibox command is using %s", id)
}

// RemainsTimeout is how long the remaining processes of a dead sandbox may take to end.
const RemainsTimeout = 2 * time.Second
