package client

import (
	"context"

	"aibox/internal/delay"
)

// VerificationStart waits until a session whose agent has ended verifies the work, and
// returns the offset of that in the record; -1 if the session ends without it.
func (s *supervisorClient) VerificationStart(ctx context.Context, id ID) (int64, error) {
	for {
		alive := isLocked(s.store.Dir(id)) // check this first: a state that is read later is the last one
		session, err := s.store.Load(id)
		switch {
		case err != nil:
			return -1, err
		case session.State.Phase == Verifying:
			return session.State.VerifyFrom, nil
		case session.Verify == "" || session.State.Phase == Ended || !alive:
			return -1, nil
		}
		delay.Wait(ctx, reconnectPause)
		if ctx.Err() != nil {
			return -1, ctx.Err()
		}
	}
}
