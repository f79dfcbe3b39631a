package session

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"aibox/internal/fault"
	"aibox/netguard/preset"
	"aibox/session/control"
)

// Load returns a session by its whole id. If it does not exist, the error is
// fs.ErrNotExist.
func (s *reader) Load(id ID) (Session, error) { return s.store.Load(id) }

// Sandboxes returns the sandboxes of a tenant, oldest first. It omits damaged ones and names
// them in the error, which may accompany a list.
func (s *reader) Sandboxes(tenant Tenant) ([]Session, error) {
	return s.sandboxes(func(found *Session) bool { return found.OwnedBy(tenant) })
}

// VisibleSandboxes is like Sandboxes, but includes those that the agents of the tenant's
// sessions created.
func (s *reader) VisibleSandboxes(tenant Tenant) ([]Session, error) {
	return s.sandboxes(func(found *Session) bool { return found.OwnedBy(tenant) || s.CreatedByAgentOf(tenant, found) })
}

// CreatedByAgentOf reports whether the agent of a session of the tenant created the
// sandbox. A session without a readable record belongs to no tenant.
func (s *reader) CreatedByAgentOf(tenant Tenant, sandbox *Session) bool {
	id := sandbox.ParentOf()
	if id == "" || tenant == "" {
		return false
	}
	parent, err := s.store.Load(id)
	return err == nil && cmp.Or(parent.Tenant, LocalTenant) == tenant
}

func (s *reader) sandboxes(selects func(*Session) bool) ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id ID) bool { return id.Agent() != SandboxAgent })
	var sandboxes []Session
	var errs []error
	for _, id := range ids {
		session, err := s.store.Load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the sandbox is about to be created, or was just removed
		case err != nil:
			errs = append(errs, err)
		case selects(&session):
			sandboxes = append(sandboxes, session)
		}
	}
	return sandboxes, errors.Join(errs...)
}

// UpdateSandbox changes a running sandbox.
func (s *supervisorClient) UpdateSandbox(ctx context.Context, id ID, change SandboxChange) error {
	return s.send(id, func(c control.Client) error { return c.UpdateSandbox(ctx, change) })
}

// PauseSandbox stops all programs of a running sandbox, which keeps its memory. Its idle time
// and its time limit stop, too.
func (s *supervisorClient) PauseSandbox(ctx context.Context, id ID) error {
	return s.send(id, func(c control.Client) error { return c.Pause(ctx) })
}

// ResumeSandbox continues a paused sandbox.
func (s *supervisorClient) ResumeSandbox(ctx context.Context, id ID) error {
	return s.send(id, func(c control.Client) error { return c.Resume(ctx) })
}

// SnapshotSandbox stores the state of a running sandbox. request is a snapshot.Request.
func (s *supervisorClient) SnapshotSandbox(ctx context.Context, id ID, request any) error {
	return s.send(id, func(c control.Client) error { return c.Snapshot(ctx, request) })
}

// NetworkLists are new lists of a sandbox's network policy. A nil list stays unchanged; an
// empty one has no entries.
type NetworkLists struct {
	Allow *[]string `json:"allow,omitempty"`
	Deny  *[]string `json:"deny,omitempty"`
}

// SetNetwork replaces the lists of a running sandbox, and closes the connections that are no
// longer allowed. Entries that the user's settings deny stay denied.
func (s *supervisorClient) SetNetwork(ctx context.Context, id ID, lists NetworkLists, reason string) error {
	found, err := s.store.Load(id)
	if err != nil {
		return err
	}
	if err := lists.check(); err != nil {
		return err
	}
	if mode := found.Mode(); !mode.HasProxy() && found.State.Phase != Ended {
		return fault.New(fault.Usage, "%s was created with the network policy %s, which has no way out of the sandbox and no lists", id, mode).
			Hint("create it with an allow list, which may be empty")
	}
	lists = NetworkLists{notNull(lists.Allow), notNull(lists.Deny)}
	return s.send(id, func(c control.Client) error { return c.SetNetwork(ctx, lists, reason) })
}

// notNull returns a list that is not null in JSON, because null would leave it unchanged.
func notNull(list *[]string) *[]string {
	if list != nil && *list == nil {
		return &[]string{}
	}
	return list
}

// check returns an error for the first invalid entry.
func (l *NetworkLists) check() error {
	if l.Allow != nil {
		for _, word := range *l.Allow {
			if _, err := preset.ParseAllow(word); err != nil {
				return err
			}
		}
	}
	if l.Deny != nil {
		for _, word := range *l.Deny {
			if _, err := preset.ParseDeny(word); err != nil {
				return err
			}
		}
	}
	return nil
}
