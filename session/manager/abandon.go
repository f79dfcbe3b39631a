package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// abandonPoll is how often Abandon and Settle check a start.
const abandonPoll = 20 * time.Millisecond

// Abandon ends the sandbox of a Launch whose Client has died, and returns when the sandbox
// has ended. A start in progress ends by itself. It is no error if the sandbox does not
// exist.
func (s *repairs) Abandon(ctx context.Context, id session.ID) error {
	if id.Agent() != session.SandboxAgent {
		return fmt.Errorf("%s is not a sandbox", id)
	}
	tick := time.NewTicker(abandonPoll)
	defer tick.Stop()
	for session.IsLocked(s.store.Dir(id)) {
		if found, err := s.store.Load(id); err == nil && found.State.Phase == session.Running {
			_, err := s.verifications.Stop(ctx, id, abandoned)
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.EndDead(ctx, id)
}

// Settle waits for the end of a session's start whose client has died, and reports whether
// the session was started or is queued. Otherwise it will never start, and none of its
// files are left.
func (s *repairs) Settle(ctx context.Context, id session.ID) (started bool, err error) {
	tick := time.NewTicker(abandonPoll)
	defer tick.Stop()
	for {
		found, err := s.store.Load(id)
		switch {
		case err == nil && (!found.State.Started.IsZero() || found.State.Phase == session.Queued):
			return true, nil
		case err == nil && found.State.Phase == session.Ended:
			return false, nil // a failed start whose record is kept
		case session.IsLocked(s.store.Dir(id)):
		case errors.Is(err, fs.ErrNotExist) && s.store.CreateChosen(id) == nil:
			// A supervisor that starts late cannot make the folder, which repair removes.
			return false, nil
		default:
			if _, err := s.endDead(ctx, id, fault.New(fault.Interrupted, abandoned)); err != nil {
				return false, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// abandoned is the reason for the end of a sandbox that Abandon stops.
const abandoned = "the process that created it has died"
