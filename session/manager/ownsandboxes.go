package manager

import (
	"context"
	"errors"

	"aibox/session"
)

// endOwnSandboxes ends the sandboxes that the agent of a dead session created. They
// normally end by themselves when its supervisor dies.
func (s *repairs) endOwnSandboxes(ctx context.Context, parent *session.Session) error {
	if parent.OwnSandboxes() == 0 {
		return nil
	}
	all, err := s.Sandboxes(session.OwnTenant(parent.ID))
	for i := range all {
		if all[i].State.Phase != session.Ended {
			_, killErr := s.Kill(ctx, all[i].ID, "its session has ended")
			err = errors.Join(err, killErr)
		}
	}
	return err
}
