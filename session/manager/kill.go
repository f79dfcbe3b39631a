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
	dir := s.store.Dir(id)
	record, err := s.store.Load(id)
	if err != nil {
		return session.Session{}, err
	}
	if session.IsLocked(dir) {
		if record.State.Supervisor.PID > 0 {
			if err := runtime.KillProcess(record.State.Supervisor); err != nil {
				return session.Session{}, fmt.Errorf("killing the supervisor of %s: %w", id, err)
			}
		}
		freeing, cancel := context.WithTimeout(ctx, SandboxEndTimeout)
		defer cancel()
		if err := session.AwaitFree(freeing, dir); err != nil && ctx.Err() == nil {
			return session.Session{}, fault.New(fault.Environment, "another aibox command is using %s", id).
				Hint("`fuser %s/%s` names its process", dir, session.LockFile)
		} else if err != nil {
			return session.Session{}, err
		}
	}
	_, err = s.endDead(ctx, id, fault.New(fault.Interrupted, "stopped at once: %s", reason).
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

// RemainsTimeout is how long the remaining processes of a dead sandbox may take to end.
const RemainsTimeout = 2 * time.Second
