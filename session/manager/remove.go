package manager

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review/recovery"
	"aibox/review/scan"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/workspace"
)

// removals discards work and removes sessions. It saves the work first.
type removals struct {
	*changeSets
	handovers *handovers
	store     session.Store
}

// Discard discards the session's changes. It saves the content of the workspace, which can
// be recovered for a limited time, and removes the workspace.
func (s *removals) Discard(ctx context.Context, id session.ID) (*recovery.Point, error) {
	var saved *recovery.Point
	err := s.withEnded(ctx, id, func(record *session.Session) error {
		err := record.NotContinued()
		if err != nil {
			return err
		}
		if saved, err = s.discardWorkspace(ctx, record); err != nil {
			return err
		}
		// A discard that cannot be logged is incomplete: the next one finds the state that this
		// one saved, and logs it.
		if err := s.append(id, audit.ChangesDiscarded, savedEvent(saved)); err != nil {
			return err
		}
		record.State.Review = session.Discarded
		return errors.Join(s.store.WriteState(id, record.State), removeDraft(s.store.Dir(id)))
	})
	return saved, err
}

// discardWorkspace saves and removes the workspace. If an interrupted discard has already
// done so, it returns the state that was saved.
func (s *removals) discardWorkspace(ctx context.Context, record *session.Session) (*recovery.Point, error) {
	gone, err := record.State.Workspace.Gone()
	switch {
	case err != nil:
		return nil, err
	case gone && record.State.Review == session.Discarded:
		return nil, fault.New(fault.Usage, "%s is already discarded", record.ID).
			Hint("`aibox recover %s` lists the saved states", record.ID)
	case gone:
		if saved, err := s.unfinishedDiscard(ctx, record); saved != nil || err != nil {
			return saved, err
		}
	}
	if err := s.logBegin(record, audit.DiscardBegun, map[string]any{"workspace": record.State.Workspace.Path}); err != nil {
		return nil, err
	}
	return s.saveAndRemove(ctx, record, recovery.Discarded)
}

// unfinishedDiscard returns the state saved by a discard whose end was not recorded, or
// nil.
func (s *removals) unfinishedDiscard(ctx context.Context, record *session.Session) (*recovery.Point, error) {
	var begun time.Time
	err := audit.Read(s.store.AuditPath(record.ID), func(e audit.Event) error {
		switch e.Type {
		case audit.DiscardBegun:
			begun = e.Time
		case audit.ChangesDiscarded, audit.ChangesRecovered:
			begun = time.Time{}
		}
		return nil
	})
	if err != nil || begun.IsZero() {
		return nil, err
	}
	all, err := recovery.PointsIn(ctx, record.State.Workspace.GitDir)
	if err != nil {
		return nil, err
	}
	var last *recovery.Point
	for i := range all {
		saved := &all[i] // the state's time is in whole seconds
		if saved.By == string(record.ID) && saved.What == recovery.Discarded && !saved.When.Before(begun.Truncate(time.Second)) && (last == nil || saved.Number > last.Number) {
			last = saved
		}
	}
	return last, nil
}

// saveAndRemove saves the content of the session's workspace and removes the workspace. If
// the workspace is gone, it saves the last recorded change set.
func (s *removals) saveAndRemove(ctx context.Context, record *session.Session, what recovery.Reason) (*recovery.Point, error) {
	ws := record.State.Workspace
	gone, err := ws.Gone()
	if err != nil {
		return nil, err
	}
	if !gone {
		return recovery.PutAway(ctx, ws, what, scan.Options{})
	}
	set, err := s.changes(ctx, record)
	if err != nil {
		return nil, err
	}
	return recovery.Save(ctx, ws, set, what)
}

// Remove deletes the session's record and workspace. It saves the content of the workspace
// first, as Discard does, and keeps the audit log in the archive. A queued session is
// stopped first. Work that is not fully reviewed is a Conflict, unless force is
// set.
func (s *removals) Remove(ctx context.Context, id session.ID, force bool) error {
	if s.store.IsQueued(id) { // no part of it has started
		if _, err := s.Stop(ctx, id, "removed by the user"); err != nil {
			return err
		}
		if _, err := s.store.Load(id); errors.Is(err, fs.ErrNotExist) { // its client was waiting
			return nil
		}
	}
	return s.withRecord(ctx, id, func(record *session.Session) error {
		if err := s.removeWorkspace(ctx, record, force); err != nil {
			return err
		}
		if record.State.Phase != session.Ended { // its repair has failed, and finds its container no longer
			if err := ExpectContainer(s.store); err != nil {
				return err
			}
		}
		return auditlog.RemoveKeepingLog(ctx, s.store, id, s.deps.ReadSettings().AuditCommand)
	})
}

func (s *removals) removeWorkspace(ctx context.Context, record *session.Session, force bool) error {
	ws := record.State.Workspace
	if ws != nil {
		if err := sandboxEnded(record); err != nil {
			return err
		}
	}
	if s.isBorrowed(record) {
		return s.handovers.ReturnWorkspace(ctx, record.Resumes, record.ID)
	}
	if ws == nil || record.State.ContinuedBy != "" {
		return nil
	}
	gone, err := ws.Gone()
	if err != nil {
		return err
	}
	unreviewed := record.HasOpenWork()
	if gone {
		if unreviewed && !force {
			return unreviewedFault(record.ID)
		}
		if unreviewed {
			_, err = s.saveAndRemove(ctx, record, recovery.Removed)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing was ever computed, so there is nothing to save
			return err
		}
		return workspace.Remove(ctx, ws) // the baseline is left
	}
	set, err := scan.Workspace(ctx, ws, scan.Options{})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // even with force, which promises that the changes can be recovered
		return unsavedFault(record.ID, ws, err)
	case set.Empty():
		return workspace.Remove(ctx, ws)
	case !force && (unreviewed || record.State.Review == session.Unreviewed): // the user may have changed the workspace
		return unreviewedFault(record.ID)
	}
	if _, err := recovery.Save(ctx, ws, set, recovery.Removed); err != nil {
		return err
	}
	return workspace.Remove(ctx, ws)
}

// isBorrowed reports whether the session has the workspace of the one that it should have resumed
// only because its repair has failed: its agent never started.
func (s *removals) isBorrowed(record *session.Session) bool {
	if record.Resumes == "" || record.State.Phase == session.Ended || !record.State.Started.IsZero() || !s.store.History(record.ID).AgentStarted.IsZero() {
		return false
	}
	_, err := s.store.Load(record.Resumes)
	return !errors.Is(err, fs.ErrNotExist) // otherwise the workspace is left to this session
}

// ErrUnsaved marks the error of Remove for a workspace that cannot be saved. Its hints name the
// workspace's path on the host.
var ErrUnsaved = errors.New("the workspace cannot be saved")

// unsavedFault is the error for a workspace whose removal could lose changes, because err prevents
// that they are saved.
func unsavedFault(id session.ID, ws *workspace.Workspace, err error) error {
	return fault.New(fault.KindOf(err), "saving the workspace before it is removed: %w", marked{err}).
		Hint("if you need nothing in %s, delete that folder yourself, and then: aibox rm --force %s", termtext.Escape(ws.Path), id)
}

// marked is an error with the mark ErrUnsaved.
type marked struct{ error }

func (m marked) Unwrap() []error { return []error{ErrUnsaved, m.error} }

func unreviewedFault(id session.ID) error {
	return fault.New(fault.Conflict, "not all changes of %s have been reviewed", id).
		Hint("`aibox diff %s`, then `aibox accept %s` or `aibox discard %s`", id, id, id).
		Hint("`aibox rm --force %s` removes it; `aibox recover %s` brings it back", id, id)
}

// removalTimeout is the time without a change in a folder after which its removal counts as
// interrupted.
const removalTimeout = 10 * time.Second

// sweep deletes the remains of folders in root whose removal was interrupted. The next repair or a
// cleanup deletes what it cannot delete.
func sweep(ctx context.Context, root string, names []string) {
	for _, name := range names {
		rest := workspace.Leftover{Path: filepath.Join(root, name)}
		if workspace.Unchanged(rest.Path, removalTimeout) {
			_ = rest.Remove(ctx)
		}
	}
}
