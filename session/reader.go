package session

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"

	"aibox/audit"
	"aibox/session/output"
)

// reader reads the records of sessions. It changes nothing and talks to no supervisor.
type reader struct{ store Store }

// newReader returns a reader of the sessions in store.
func newReader(store Store) *reader { return &reader{store: store} }

// List returns all sessions, oldest first. It omits damaged ones and names them in the
// error, which may accompany a list.
func (s *reader) List() ([]Session, error) {
	ids, err := s.store.IDs()
	if err != nil {
		return nil, err
	}
	return s.load(ids)
}

// load returns the sessions with the ids, without those that do not exist. It omits damaged
// ones and names them in the error.
func (s *reader) load(ids []ID) ([]Session, error) {
	loaded := make([]Session, len(ids))
	errs := make([]error, len(ids))
	workers := runtime.GOMAXPROCS(0)
	var reading sync.WaitGroup
	for worker := range workers {
		reading.Go(func() {
			for i := worker; i < len(ids); i += workers {
				loaded[i], errs[i] = s.store.Load(ids[i])
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
		}
	}
	return sessions, errors.Join(errs...)
}

// Find returns the session that text names: an id or a unique prefix.
func (s *reader) Find(text string) (Session, error) {
	id, err := s.store.resolve(text)
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
func (s *reader) Output(id ID, from int64, visit func(output.Chunk) error) (int64, error) {
	return output.Read(s.store.Dir(id), from, true, visit)
}

// Events visits the session's audit events in order. A damaged log is audit.ErrBroken.
func (s *reader) Events(id ID, visit func(audit.Event) error) error {
	return audit.Read(s.store.auditPath(id), visit)
}
