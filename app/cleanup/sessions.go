package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"aibox/review"
	"aibox/review/recovery"
	"aibox/review/scan"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/workspace"
)

// sessions removes unneeded sessions, newest first, so that a session is removed before the
// one that it continued.
func (c *cleaner) sessions(ctx context.Context) error {
	ids, err := c.store.IDs()
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		if id.Hidden() || ctx.Err() != nil {
			continue // the repair removes verifications
		}
		if err := c.session(ctx, id); err != nil {
			c.fail(fmt.Errorf("removing %s: %w", id, err))
		}
	}
	return ctx.Err()
}

// session removes one session if it is no longer needed.
func (c *cleaner) session(ctx context.Context, id session.ID) error {
	if _, ok := c.removable(id); !ok {
		return nil
	}
	c.beforeStep("lock " + string(id))
	file, err := c.store.Lock(id)
	if errors.Is(err, session.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil // another command uses it
	}
	if err != nil {
		return err
	}
	defer file.Close()
	s, ok := c.removable(id) // the session may have changed before it was locked
	if !ok {
		return nil
	}
	if ws := s.State.Workspace; ws != nil && s.State.ContinuedBy == "" {
		done, err := c.workspace(ctx, s, ws)
		if err != nil || !done {
			return err
		}
	}
	count := c.count(id)
	err = c.do("record "+string(id), func() error {
		return auditlog.RemoveKeepingLog(ctx, c.store, id, c.options.auditCommand)
	})
	if err != nil {
		return err
	}
	c.gone[id] = true
	count()
	return nil
}

// count measures a session's folder, and the agent's part of it separately. The result
// reports them as removed.
func (c *cleaner) count(id session.ID) (report func()) {
	dir := c.store.Dir(id)
	files, bytes := workspace.Measure(dir)
	homeFiles, homeBytes := 0, int64(0)
	for _, root := range agentstate.Roots(dir) {
		more, size := workspace.Measure(root)
		homeFiles, homeBytes = homeFiles+more, homeBytes+size
	}
	return func() {
		if homeFiles > 0 {
			c.report.Add(KindConversations, string(id), homeFiles, homeBytes)
		}
		c.report.Add(KindSessions, string(id), files-homeFiles, bytes-homeBytes)
	}
}

// removable returns the session and whether its record allows its removal. It reports the
// reasons to keep a session that the user can change.
func (c *cleaner) removable(id session.ID) (*session.Session, bool) {
	s, err := c.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false // the session is about to be created, or was just removed
	}
	if err != nil {
		c.keepSession(id, "its record cannot be read: "+err.Error())
		return nil, false
	}
	if s.State.Phase != session.Ended || c.recent(&s) {
		return nil, false
	}
	if by := s.State.ContinuedBy; by != "" {
		return &s, c.gone[by] || c.isGone(by)
	}
	if s.HasOpenWork() {
		c.keepSession(id, "not all of its work has been reviewed")
		return nil, false
	}
	if s.State.Sandbox.Alive() { // its supervisor could not end it
		c.keepSession(id, "its sandbox still runs")
		return nil, false
	}
	if waiter := c.waiter(id); waiter != "" {
		c.keepSession(id, string(waiter)+" waits to continue it")
		return nil, false
	}
	return &s, true
}

// waiter returns a session that has not started and is to resume or fork the session id; empty if
// there is none.
func (c *cleaner) waiter(id session.ID) session.ID {
	ids, _ := c.store.IDs() // an error was reported at the start
	for _, other := range ids {
		if other == id || other.Hidden() || c.started[other] {
			continue
		}
		if c.store.Ended(other) {
			c.started[other] = true
			continue
		}
		s, err := c.store.Load(other)
		if err != nil {
			continue
		}
		c.started[other] = s.State.Phase == session.Ended || !s.State.Started.IsZero()
		if !c.started[other] && s.Continues() == id {
			return other
		}
	}
	return ""
}

// keepSession reports once that a session stays.
func (c *cleaner) keepSession(id session.ID, why string) {
	what := "session " + string(id)
	if !slices.ContainsFunc(c.report.Kept, func(k Kept) bool { return k.What == what }) {
		c.report.Keep(what, why)
	}
}

func (c *cleaner) isGone(id session.ID) bool {
	_, err := os.Lstat(c.store.Dir(id))
	return errors.Is(err, fs.ErrNotExist)
}

// recent reports whether the session had an event during the retention: its end, a review,
// or a session that continued it.
func (c *cleaner) recent(s *session.Session) bool {
	return min(time.Since(s.State.Ended), c.store.Age(s.ID)) < c.options.OlderThan
}

// workspace removes the workspace of an unneeded session if it holds only reviewed work. If
// done is false, the workspace and the session stay.
func (c *cleaner) workspace(ctx context.Context, s *session.Session, ws *workspace.Workspace) (done bool, err error) {
	gone, err := ws.Gone()
	if err != nil {
		return false, err
	}
	if gone { // the baseline may be left
		return true, c.do("workspace "+string(s.ID), func() error { return workspace.Remove(ctx, ws) })
	}
	set, err := scan.Workspace(ctx, ws, scan.Options{})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		c.keepSession(s.ID, "its workspace cannot be read: "+err.Error())
		return false, nil //nolint:nilerr // reported as a reason to keep it
	}
	reviewed, err := c.fullyReviewed(s, set)
	if err != nil || !reviewed {
		why := "its workspace holds work that has not been reviewed"
		if err != nil {
			why = "it is unknown what was accepted of its work: " + err.Error()
		}
		c.keepSession(s.ID, why)
		return false, nil
	}
	files, bytes := workspace.Measure(ws.Path)
	if !set.Empty() {
		c.saves[ws.Session] = true
		err := c.do("save "+string(s.ID), func() error {
			_, err := recovery.Save(ctx, ws, set, recovery.Collected)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if err := c.do("workspace "+string(s.ID), func() error { return workspace.Remove(ctx, ws) }); err != nil {
		return false, err
	}
	c.report.Add(KindWorkspaces, ws.Path, files, bytes)
	return true, nil
}

// fullyReviewed reports whether the user has decided on all of set, the current content of
// the workspace of a reviewed session.
func (c *cleaner) fullyReviewed(s *session.Session, set *review.ChangeSet) (bool, error) {
	if set.Empty() {
		return true, nil
	}
	decisions, err := manager.DecisionsOf(c.store, s.ID)
	if err != nil {
		return false, err
	}
	result := s.State.Result
	asEnded := result != nil && result.Changes.Tree == set.Tree
	switch s.State.Review {
	case session.Accepted: // without decisions, everything was accepted at once
		return decisions.Taken.Complete(set) || decisions.Taken.Empty() && asEnded, nil
	case session.Discarded:
		return asEnded, nil
	default:
		return false, nil
	}
}
