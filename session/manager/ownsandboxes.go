package manager

import (
	"context"
	"errors"
)

// endOwnSandboxes ends the sandboxes that the agent of a dead session created. They
// normally end by themselves when its supervisor dies.
func (s *repairs) endOwnSandboxes(ctx context.Context, parent *Session) error {
	if parent.OwnSandboxes() == 0 {
		return nil
	}
	all, err := s.Sandboxes(OwnTenant(parent.ID))
	for i := range all {
		if all[i].State.Phase != Ended {
			_, killErr := s.Kill(ctx, all[i].ID, "its session has ended")
			err = errors.Join(err, killErr)
		}
	}
	return err
}
