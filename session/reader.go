package session

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"

	"aibox/audit"
	"aibox/session/output"
)

// Reader reads the records of sessions. It changes nothing and talks to no supervisor.
type Reader struct {
	store Store
	ended endedRecords
}

// NewReader returns a reader of the sessions in store.
func NewReader(store Store) *Reader { return &Reader{store: store} }

// List returns all sessions, oldest first. It omits damaged ones and names them in the
// error, which may accompany a list.
func (s *Reader) List() ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	s.ended.retain(ids)
	return s.LoadAll(ids)
}

// Countable returns all sessions, oldest first, without those whose records cannot be read and that
// no supervisor holds: nothing of them runs. It fails for unreadable ones that run.
func (s *Reader) Countable() ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	s.ended.retain(ids)
	return s.loadAll(ids, s.heldError)
}

// heldError returns the error of a record; nil if it cannot be read and no supervisor holds it.
func (s *Reader) heldError(id ID, err error) error {
	if IsUnreadable(err) && !IsLocked(s.store.Dir(id)) {
		return nil
	}
	return err
}

// anyError returns the error of a record.
func anyError(_ ID, err error) error { return err }

// LoadAll returns the sessions with the ids, without those that do not exist. It omits damaged
// ones and names them in the error.
func (s *Reader) LoadAll(ids []ID) ([]Session, error) { return s.loadAll(ids, anyError) }

func (s *Reader) loadAll(ids []ID, unread func(ID, error) error) ([]Session, error) {
	loaded := make([]Session, len(ids))
	errs := make([]error, len(ids))
	workers := runtime.GOMAXPROCS(0)
	var reading sync.WaitGroup
	for worker := range workers {
		reading.Go(func() {
			for i := worker; i < len(ids); i += workers {
				loaded[i], errs[i] = s.load(ids[i])
			}
		})
	}
	reading.Wait()
	sessions := loaded[:0]
	position := 0
	for i, session := range loaded {
		if errors.Is(errs[i], fs.ErrNotExist) {
			errs[i] = nil // the session is about to be created, or just removed
			continue
		}
		if errs[i] == nil {
			if session.State.Phase == Queued && !session.ID.Hidden() {
				position++
				session.Position = position
			}
			sessions = append(sessions, session)
		} else {
			errs[i] = unread(ids[i], errs[i])
		}
	}
	return sessions, errors.Join(errs...)
}

// Find returns the session that text names: an id or a unique prefix.
func (s *Reader) Find(text string) (Session, error) {
	id, err := s.store.Resolve(text)
	if err != nil {
		return Session{}, err
	}
	session, err := s.store.Load(id)
	if err == nil && session.State.Phase == Queued {
		session.Position = s.store.queuePosition(id)
	}
	return session, err
}

// Output visits the output recorded so far, from the byte offset from on, and returns the
// offset of its end.
func (s *Reader) Output(id ID, from int64, visit func(output.Chunk) error) (int64, error) {
	return output.Read(s.store.Dir(id), from, true, visit)
}

// Events visits the session's audit events in order. A damaged log is audit.ErrBroken.
func (s *Reader) Events(id ID, visit func(audit.Event) error) error {
	return audit.Read(s.store.AuditPath(id), visit)
}

// Load returns a session by its whole id. If it does not exist, the error is
// fs.ErrNotExist.
func (s *Reader) Load(id ID) (Session, error) { return s.store.Load(id) }

// Sandboxes returns the sandboxes of a tenant, oldest first. It omits damaged ones and names
// them in the error, which may accompany a list.
func (s *Reader) Sandboxes(tenant Tenant) ([]Session, error) {
	return s.sandboxes(func(found *Session) bool { return found.OwnedBy(tenant) }, anyError)
}

// CountableSandboxes is Countable for the sandboxes of a tenant.
func (s *Reader) CountableSandboxes(tenant Tenant) ([]Session, error) {
	return s.sandboxes(func(found *Session) bool { return found.OwnedBy(tenant) }, s.heldError)
}

// VisibleSandboxes is like Sandboxes, but includes those that the agents of the tenant's
// sessions created.
func (s *Reader) VisibleSandboxes(tenant Tenant) ([]Session, error) {
	return s.sandboxes(func(found *Session) bool { return found.OwnedBy(tenant) || s.CreatedByAgentOf(tenant, found) }, anyError)
}

// CreatedByAgentOf reports whether the agent of a session of the tenant created the
// sandbox. A session without a readable record belongs to no tenant.
func (s *Reader) CreatedByAgentOf(tenant Tenant, sandbox *Session) bool {
	id := sandbox.ParentOf()
	if id == "" || tenant == "" {
		return false
	}
	parent, _, err := s.owned(id)
	return err == nil && parent.Owner() == tenant
}

func (s *Reader) sandboxes(selects func(*Session) bool, unread func(ID, error) error) ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	s.ended.retain(ids)
	ids = slices.DeleteFunc(ids, func(id ID) bool { return id.Agent() != SandboxAgent })
	var sandboxes []Session
	var errs []error
	for _, id := range ids {
		session, whole, err := s.owned(id)
		if err == nil && !whole && selects(&session) {
			session, err = s.store.Load(id)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // the sandbox is about to be created, or was just removed
		case err != nil:
			errs = append(errs, unread(id, err))
		case selects(&session):
			sandboxes = append(sandboxes, session)
		}
	}
	return sandboxes, errors.Join(errs...)
}
