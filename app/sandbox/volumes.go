package sandbox

import (
	"context"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/volume"
)

// CreateVolume creates an empty volume.
func (s *Service) CreateVolume(_ context.Context, tenant session.Tenant, name string) (volume.Volume, error) {
	return s.Volumes.Create(tenant, name)
}

// ListVolumes returns the tenant's volumes by name.
func (s *Service) ListVolumes(_ context.Context, tenant session.Tenant) ([]volume.Volume, error) {
	return s.Volumes.List(tenant)
}

// DeleteVolume deletes a volume with its files. If a sandbox uses it, the error is a
// Conflict.
func (s *Service) DeleteVolume(ctx context.Context, tenant session.Tenant, name string) error {
	if _, err := s.Volumes.Find(tenant, name); err != nil {
		return err
	}
	all, err := s.Sessions.Sandboxes(tenant)
	if err != nil {
		return err // a sandbox with an unreadable record may use it
	}
	for i := range all {
		if all[i].State.Phase == session.Ended {
			continue
		}
		for _, mount := range all[i].Sandbox.Volumes {
			if mount.Volume == name {
				return fault.New(fault.Conflict, "the sandbox %s uses the volume %q", all[i].ID, name).Hint("destroy the sandbox first")
			}
		}
	}
	return s.Volumes.Delete(ctx, tenant, name)
}
