package manager

import (
	"context"
	"errors"
	"io/fs"

	"aibox/session"
)

// endOwnSandboxes ends the sandboxes that the agent of a dead session created. They
// normally end by themselves when its supervisor dies, so sandboxes with unreadable records,
// which may be anyone's, do not keep the session from ending.
func (s *repairs) endOwnSandboxes(ctx context.Context, parent *session.Session) error {
	if parent.OwnSandboxes() == 0 && !parent.Restored { // the log of an earlier version does not say how many there can be
		return nil
	}
	ids, err := s.store.IDs()
	for _, id := range ids {
		if id.Agent() != session.SandboxAgent {
			continue
		}
		own, loadErr := s.store.Load(id)
		switch {
		case errors.Is(loadErr, fs.ErrNotExist), session.IsUnreadable(loadErr):
		case loadErr != nil:
			err = errors.Join(err, loadErr)
		case !own.OwnedBy(session.OwnTenant(parent.ID)) || own.State.Phase == session.Ended:
		case own.Alive:
			_, killErr := s.Kill(ctx, id, "its session has ended")
			err = errors.Join(err, killErr)
		default: // its supervisor has died, too
			err = errors.Join(err, s.EndDead(ctx, id))
		}
	}
	return err
}
