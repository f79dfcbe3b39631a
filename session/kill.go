package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"aibox/internal/fault"
	"aibox/runtime"
)

// SandboxEndTimeout is how long a sandbox may take to die after its end was asked for.
const SandboxEndTimeout = 5 * time.Second

// Kill ends a session at once, without its supervisor, which may hang or be stopped: that
// is killed, and what it would have done is done here. The agent's work so far is kept.
// reason is for the record. A session that has ended is no error; one whose agent had not
// started yet is removed, and the Session returned is as it was.
func (s *repairs) Kill(ctx context.Context, id ID, reason string) (Session, error) {
	dir := s.store.Dir(id)
	session, err := s.store.Load(id)
	if err != nil {
		return Session{}, err
	}
	if isLocked(dir) {
		if session.State.Supervisor.PID > 0 {
			if err := runtime.KillProcess(session.State.Supervisor); err != nil {
				return Session{}, fmt.Errorf("killing the supervisor of %s: %w", id, err)
			}
		}
		freeing, cancel := context.WithTimeout(ctx, SandboxEndTimeout)
		defer cancel()
		if err := awaitFree(freeing, dir); err != nil && ctx.Err() == nil {
			return Session{}, fault.New(fault.Environment, "another aibox command works on %s", id).
				Hint("`fuser %s/%s` names its process", dir, lockFile)
		} else if err != nil {
			return Session{}, err
		}
	}
	_, err = s.endDead(ctx, id, fault.New(fault.Interrupted, "stopped at once: %s", reason).
		Hint("`aibox diff %s` shows the agent's work so far", id))
	if err != nil {
		return Session{}, fmt.Errorf("clearing up after %s: %w", id, err)
	}
	ended, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return session, nil
	}
	return ended, err
}

// RemainsTimeout is how long what is left of a dead sandbox may take to end by itself.
const RemainsTimeout = 2 * time.Second
