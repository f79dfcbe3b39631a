package session

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
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
