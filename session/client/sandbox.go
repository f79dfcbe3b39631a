package client

import (
	"context"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
)

// UpdateSandbox changes a running sandbox.
func (s *Client) UpdateSandbox(ctx context.Context, id session.ID, change session.SandboxChange) error {
	return s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error { return c.UpdateSandbox(ctx, change) })
}

// PauseSandbox stops all programs of a running sandbox, which keeps its memory. Its idle time
// and its time limit stop, too.
func (s *Client) PauseSandbox(ctx context.Context, id session.ID) error {
	return s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error { return c.Pause(ctx) })
}

// ResumeSandbox continues a paused sandbox.
func (s *Client) ResumeSandbox(ctx context.Context, id session.ID) error {
	return s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error { return c.Resume(ctx) })
}

// SnapshotSandbox stores the state of a running sandbox. request is a snapshot.Request.
func (s *Client) SnapshotSandbox(ctx context.Context, id session.ID, request any) error {
	return s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error { return c.Snapshot(ctx, request) })
}

// SetNetwork replaces the lists of a running sandbox, and closes the connections that are no
// longer allowed. Entries that the user's settings deny stay denied.
func (s *Client) SetNetwork(ctx context.Context, id session.ID, lists session.NetworkLists, reason string) error {
	found, err := s.store.Load(id)
	if err != nil {
		return err
	}
	if err := lists.Check(); err != nil {
		return err
	}
	if mode := found.Mode(); !mode.HasProxy() && found.State.Phase != session.Ended {
		return fault.New(fault.Usage, "%s was created with the network policy %s, which has no way out of the sandbox and no lists", id, mode).
			Hint("create it with an allow list, which may be empty")
	}
	lists = session.NetworkLists{Allow: notNull(lists.Allow), Deny: notNull(lists.Deny)}
	return s.send(id, func(c control.Client) error { return c.SetNetwork(ctx, lists, reason) })
}

// notNull returns a list that is not null in JSON, because null would leave it unchanged.
func notNull(list *[]string) *[]string {
	if list != nil && *list == nil {
		return &[]string{}
	}
	return list
}

// ClaimSandbox assigns a warm sandbox to a tenant, and returns when processes can be
// started in it. After an error no other claim can use it, and its caller must stop it: the claim
// may succeed nevertheless, if the supervisor is slow or ctx has ended.
func (s *Client) ClaimSandbox(ctx context.Context, id session.ID, claim session.Claim) error {
	return s.send(id, func(c control.Client) error { return c.Claim(ctx, claim) })
}
