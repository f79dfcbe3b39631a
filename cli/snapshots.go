package cli

import (
	"context"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/snapshot"
)

// snapshots are the user's snapshots, for the terminal UI. Like the commands, it changes them
// through the API.
type snapshots struct {
	cli      *cli
	sessions *manager.Manager
}

// Snapshots returns the snapshots, newest first.
func (s snapshots) Snapshots(ctx context.Context) ([]snapshot.Snapshot, error) {
	service, err := s.cli.app.Sandboxes(s.sessions)
	if err != nil {
		return nil, err
	}
	return service.ListSnapshots(ctx, session.LocalTenant)
}

// Take takes a snapshot of a running sandbox.
func (s snapshots) Take(ctx context.Context, sandbox session.ID) (id string, err error) {
	err = s.cli.withAPI(ctx, func(c *client.Client) error {
		taken, err := c.Snapshot(ctx, string(sandbox), "", 0)
		id = taken.GetSnapshotId()
		return err
	})
	return id, err
}

// Start starts a sandbox from a snapshot.
func (s snapshots) Start(ctx context.Context, id string) (started session.ID, err error) {
	err = s.cli.withAPI(ctx, func(c *client.Client) error {
		made, err := c.Create(ctx, &aiboxv1.CreateSandboxRequest{SnapshotId: id})
		started = session.ID(made.GetSandboxId())
		return err
	})
	return started, err
}

// Delete deletes a snapshot.
func (s snapshots) Delete(ctx context.Context, id string) error {
	return s.cli.withAPI(ctx, func(c *client.Client) error { return c.DeleteSnapshot(ctx, id) })
}
