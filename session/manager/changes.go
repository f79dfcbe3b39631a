package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/scan"
)

// changeSets computes and stores the changes of sessions. It writes records only while it
// holds the session's lock.
type changeSets struct {
	*supervisorClient
	*workReader
	store Store
	deps  *Deps
}

// Changes returns the change set of an ended session: computed from the workspace while
// that exists, otherwise the one that was computed at the session's end.
func (s *changeSets) Changes(ctx context.Context, id ID) (*review.ChangeSet, error) {
	var set *review.ChangeSet
	err := s.withEnded(ctx, id, func(session *Session) error {
		var err error
		set, err = s.changes(ctx, session)
		return err
	})
	return set, err
}

func (s *changeSets) changes(ctx context.Context, session *Session) (*review.ChangeSet, error) {
	ws := session.State.Workspace
	gone, err := ws.Gone()
	if err != nil {
		return nil, err
	}
	if gone || session.State.ContinuedBy != "" {
		set, err := s.store.ReadChanges(session.ID)
		if err != nil {
			return nil, fault.New(fault.Usage, "the workspace of %s is gone: %w", session.ID, err).
				Hint("`aibox recover %s` lists the saved states", session.ID)
		}
		if !set.Assessed() && review.Assess(ctx, ws, set) != nil {
			set.Notes = append(set.Notes, "risks are not known: what the change set names is gone")
		}
		return set, nil
	}
	was, err := s.beginCompute(session)
	if err != nil {
		return nil, err
	}
	set, err := s.compute(ctx, session)
	if err != nil {
		return nil, errors.Join(err, s.storeFailure(ctx, session, was, err))
	}
	if err := s.store.WriteChanges(session.ID, set); err != nil {
		return nil, err
	}
	return set, s.storeComputed(session, set)
}

// compute computes the change set from the workspace.
func (s *changeSets) compute(ctx context.Context, session *Session) (*review.ChangeSet, error) {
	ws, opts := session.State.Workspace, scan.Options{}
	over := func() {}
	if s.deps.Looking != nil {
		opts.Progress, over = s.deps.Looking()
	}
	set, err := scan.Workspace(ctx, ws, opts)
	over()
	if err != nil {
		return nil, fmt.Errorf("computing the changes of %s: %w", session.ID, err)
	}
	if err := review.Assess(ctx, ws, set); err != nil {
		return nil, fmt.Errorf("looking at the changes of %s: %w", session.ID, err)
	}
	return set, nil
}

// cleanupTimeout is how long a command waits for a supervisor that cleans up after its
// session.
const cleanupTimeout = 10 * time.Second

// withEnded loads and locks a session and calls use. It refuses a session that is running
// or never had a workspace.
func (s *changeSets) withEnded(ctx context.Context, id ID, use func(*Session) error) error {
	return s.withRecord(ctx, id, func(session *Session) error {
		if session.State.Workspace == nil {
			return fault.New(fault.Usage, "%s ended before it had a workspace", id).Hint("`aibox rm %s` removes it", id)
		}
		return use(session)
	})
}

func removedFault(id ID) error {
	return fault.New(fault.Usage, "%s was removed in the meantime", id).Hint("`aibox recover %s` lists the saved states", id)
}

// withRecord is like withEnded but also accepts sessions without a workspace.
func (s *changeSets) withRecord(ctx context.Context, id ID, use func(*Session) error) error {
	file, err := s.store.Lock(id)
	for begin := time.Now(); errors.Is(err, ErrLocked) && time.Since(begin) < cleanupTimeout && ctx.Err() == nil; {
		if session, loadErr := s.store.Load(id); loadErr != nil || session.State.Phase != Ended {
			break
		}
		file, err = s.store.Lock(id)
	}
	if errors.Is(err, ErrLocked) && ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ErrLocked) && s.supervisorStopped(id) {
		return s.unresponsiveFault(id)
	}
	if errors.Is(err, ErrLocked) {
		return fault.New(fault.Usage, "%s is still running", id).
			Hint("`aibox stop %s` ends it, `aibox attach %s` follows it", id, id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return removedFault(id)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	session, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) { // removed while this waited for the lock
		return removedFault(id)
	}
	if err != nil {
		return err
	}
	return use(&session)
}

// storeReview stores the review of a session's changes.
func (s *changeSets) storeReview(session *Session, to Review, kind audit.Type, data any, change func(*State)) error {
	session.State.Review = to
	change(&session.State)
	err := s.append(session.ID, kind, data)
	return errors.Join(err, s.store.WriteState(session.ID, session.State))
}

// append adds an event to the log of an ended session.
func (s *changeSets) append(id ID, kind audit.Type, data any) error {
	return s.deps.ReadSettings().AuditCommand.Append(s.store, id, kind, data)
}
