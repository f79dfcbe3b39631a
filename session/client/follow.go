package client

import (
	"context"
	"errors"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/output"
)

// Follow visits the session's output from the byte offset from on, until the session has
// ended: first the recorded output, then the new output. It returns the ended session. If
// the supervisor dies, it returns an error of kind Internal after it has visited everything
// recorded.
func (s *Client) Follow(ctx context.Context, id session.ID, from int64, visit func(output.Chunk) error) (session.Session, error) {
	dir, finished := s.store.Dir(id), false
	for more := s.mayReach(id); more(); {
		err := s.whileResponsive(ctx, id, func(ctx context.Context) (err error) {
			from, err = s.dial(id).Output(ctx, from, visit)
			return err
		})
		finished = err == nil
		if finished {
			// The output is complete, and the state on disk is final. The supervisor still
			// cleans up; a command that changes the session waits for that (withEnded).
			break
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
			return session.Session{}, err
		}
		// The supervisor will open its socket soon, or its lock will be free.
		select {
		case <-time.After(reconnectPause):
		case <-ctx.Done():
			return session.Session{}, ctx.Err()
		}
	}
	if _, err := output.Read(dir, from, true, visit); err != nil {
		return session.Session{}, err
	}
	record, err := s.store.Load(id)
	if err != nil {
		return session.Session{}, err
	}
	if finished && record.State.Phase != session.Ended { // the session has ended, and its supervisor could not store that
		return record, fault.New(fault.Environment, "the end of %s could not be stored", id).
			Hint("check whether the disk of %s is full: df -h %s", s.store.Root(), s.store.Root()).
			Hint("the next aibox command that finds room stores the known result; the work is kept")
	}
	if record.State.Phase != session.Ended {
		return record, fault.New(fault.Internal, "the session's supervisor died").
			Hint("the next aibox command repairs the session; its work and its record are kept")
	}
	return record, nil
}
