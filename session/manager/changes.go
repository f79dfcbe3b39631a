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
	"aibox/session"
	"aibox/session/client"
	"aibox/workspace"
)

// changeSets computes and stores the changes of sessions. It writes records only while it
// holds the session's lock.
type changeSets struct {
	*client.Client
	*workReader
	store session.Store
	deps  *Deps
}

// Changes returns the change set of an ended session: computed from the workspace while
// that exists, otherwise the one that was computed at the session's end.
func (s *changeSets) Changes(ctx context.Context, id session.ID) (*review.ChangeSet, error) {
	var set *review.ChangeSet
	err := s.withEnded(ctx, id, func(record *session.Session) error {
		var err error
		set, err = s.changes(ctx, record)
		return err
	})
	return set, err
}

func (s *changeSets) changes(ctx context.Context, record *session.Session) (*review.ChangeSet, error) {
	ws := record.State.Workspace
	gone, err := ws.Gone()
	if err != nil {
		return nil, err
	}
	if gone || record.State.ContinuedBy != "" {
		set, err := s.store.ReadChanges(record.ID)
		if err != nil {
			return nil, fault.New(fault.Usage, "the workspace of %s is gone: %w", record.ID, err).
				Hint("`aibox recover %s` lists the saved states", record.ID)
		}
		if !set.Assessed() {
			assess(ctx, ws, set)
		}
		return set, nil
	}
	was, err := s.beginCompute(record)
	if err != nil {
		return nil, err
	}
	set, err := s.compute(ctx, record)
	if err == nil {
		err = s.store.WriteChanges(record.ID, set)
	}
	if err == nil {
		err = s.storeComputed(record, set)
	}
	if err != nil {
		return nil, errors.Join(err, s.storeFailure(ctx, record, was, err))
	}
	return set, nil
}

// assess finds the risks in a stored change set. If that fails, a note says why: without its risks,
// the change set can still be shown, but not accepted.
func assess(ctx context.Context, ws *workspace.Workspace, set *review.ChangeSet) {
	err := review.Assess(ctx, ws, set)
	switch {
	case err == nil:
	case set.Rules == "":
		set.NoteRisks("risks are not known: " + err.Error())
	default:
		set.NoteRisks("risks are those of earlier rules: " + err.Error())
	}
}

// compute computes the change set from the workspace.
func (s *changeSets) compute(ctx context.Context, record *session.Session) (*review.ChangeSet, error) {
	ws, opts := record.State.Workspace, scan.Options{}
	over := func() {}
	if s.deps.Looking != nil {
		opts.Progress, over = s.deps.Looking()
	}
	set, err := scan.Workspace(ctx, ws, opts)
	over()
	if err != nil {
		return nil, fmt.Errorf("computing the changes of %s: %w", record.ID, err)
	}
	if err := review.Assess(ctx, ws, set); err != nil {
		return nil, fmt.Errorf("looking at the changes of %s: %w", record.ID, err)
	}
	return set, nil
}

// cleanupTimeout is how long a command waits for a supervisor that cleans up after its
// session.
const cleanupTimeout = 10 * time.Second

// withEnded loads and locks a session and calls use. It refuses a session that is running
// or never had a workspace, and one whose sandbox still runs.
func (s *changeSets) withEnded(ctx context.Context, id session.ID, use func(*session.Session) error) error {
	return s.withRecord(ctx, id, withWorkspace(use))
}

// withEndedPatiently is like withEnded, but waits for other commands that use the session until ctx
// ends, unless the session's supervisor is stopped.
func (s *changeSets) withEndedPatiently(ctx context.Context, id session.ID, use func(*session.Session) error) error {
	return s.locked(ctx, id, func(record *session.Session) bool { return record.State.Supervisor.Stopped() }, withWorkspace(use))
}

// withWorkspace returns use for sessions that have had a workspace to which nothing writes. It
// refuses others.
func withWorkspace(use func(*session.Session) error) func(*session.Session) error {
	return func(record *session.Session) error {
		if record.State.Workspace == nil {
			return fault.New(fault.Usage, "%s ended before it had a workspace", record.ID).Hint("`aibox rm %s` removes it", record.ID)
		}
		if err := sandboxEnded(record); err != nil {
			return err
		}
		return use(record)
	}
}

// sandboxEnded refuses a session that ended although its sandbox could not be ended: until that has
// ended, it may write to the workspace.
func sandboxEnded(record *session.Session) error {
	if sandbox := record.State.Sandbox; sandbox.Alive() {
		return fault.New(fault.Environment, "the sandbox of %s (process %d) still runs, so its workspace may still change", record.ID, sandbox.PID).
			Hint("`aibox stop --force %s` ends it", record.ID)
	}
	return nil
}

func removedFault(id session.ID) error {
	return fault.New(fault.Usage, "%s was removed in the meantime", id).Hint("`aibox recover %s` lists the saved states", id)
}

// withRecord is like withEnded but also accepts sessions without a workspace.
func (s *changeSets) withRecord(ctx context.Context, id session.ID, use func(*session.Session) error) error {
	begin := time.Now()
	return s.locked(ctx, id, func(*session.Session) bool { return time.Since(begin) >= cleanupTimeout }, use)
}

// locked is withRecord for a caller that waits for the lock until giveUp returns true.
func (s *changeSets) locked(ctx context.Context, id session.ID, giveUp func(*session.Session) bool, use func(*session.Session) error) error {
	file, err := s.store.Lock(id)
	for errors.Is(err, session.ErrLocked) && ctx.Err() == nil {
		if record, loadErr := s.store.Load(id); loadErr != nil || record.State.Phase != session.Ended || giveUp(&record) {
			break
		}
		file, err = s.store.Lock(id)
	}
	if errors.Is(err, session.ErrLocked) && ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, session.ErrLocked) && s.SupervisorStopped(id) {
		return s.UnresponsiveFault(id)
	}
	if errors.Is(err, session.ErrLocked) {
		if s.store.Ended(id) {
			return inUse(id)
		}
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
	record, err := s.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) { // removed while this waited for the lock
		return removedFault(id)
	}
	if err != nil {
		return err
	}
	return use(&record)
}

// storeReview stores the review of a session's changes.
func (s *changeSets) storeReview(record *session.Session, to session.Review, kind audit.Type, data any, change func(*session.State)) error {
	record.State.Review = to
	change(&record.State)
	err := s.append(record.ID, kind, data)
	return errors.Join(err, s.store.WriteState(record.ID, record.State))
}

// append adds an event to the log of an ended session.
func (s *changeSets) append(id session.ID, kind audit.Type, data any) error {
	return s.deps.ReadSettings().AuditCommand.Append(s.store, id, kind, data)
}
