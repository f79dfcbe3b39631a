package client

import (
	"context"

	"aibox/internal/delay"
	"aibox/session"
)

// VerificationStart waits until a session whose agent has ended verifies the work, and
// returns the offset of that in the record; -1 if the session ends without it.
func (s *Client) VerificationStart(ctx context.Context, id session.ID) (from int64, err error) {
	err = s.whileResponsive(ctx, id, func(ctx context.Context) error {
		from, err = s.awaitVerification(ctx, id)
		return err
	})
	return from, err
}

// awaitVerification is VerificationStart, without a check that the supervisor answers.
func (s *Client) awaitVerification(ctx context.Context, id session.ID) (int64, error) {
	for {
		alive := session.IsLocked(s.store.Dir(id)) // check this first: a state that is read later is the last one
		record, err := s.store.Load(id)
		switch {
		case err != nil:
			return -1, err
		case record.State.Phase == session.Verifying:
			return record.State.VerifyFrom, nil
		case record.Verify == "" || record.State.Phase == session.Ended || !alive:
			return -1, nil
		}
		delay.Wait(ctx, reconnectPause)
		if ctx.Err() != nil {
			return -1, ctx.Err()
		}
	}
}
