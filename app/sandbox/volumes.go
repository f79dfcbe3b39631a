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

// DeleteVolume deletes a volume with its files. If a sandbox uses it, or one that uses it is
// being created, the error is a Conflict.
func (s *Service) DeleteVolume(ctx context.Context, tenant session.Tenant, name string) error {
	return s.Volumes.Delete(ctx, tenant, name, func() error { return s.checkUnused(tenant, name) })
}

// checkUnused checks that no sandbox with a record uses a volume.
func (s *Service) checkUnused(tenant session.Tenant, name string) error {
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
	return nil
}

// holdVolumes keeps the volumes of a new sandbox from being deleted until release is called,
// which may be once the record of the sandbox names them.
func (s *Service) holdVolumes(ctx context.Context, tenant session.Tenant, mounts []session.VolumeMount) (release func(), err error) {
	var held []func()
	release = func() {
		for _, one := range held {
			one()
		}
	}
	for _, mount := range mounts {
		one, err := s.Volumes.Hold(ctx, tenant, mount.Volume)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, one)
	}
	return release, nil
}
