package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/recovery"
	"aibox/review/scan"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// What a clean-up takes and what it leaves:
//
//   - A session goes with its record, its agent's conversations and its workspace when
//     it has ended, its work is reviewed to the end (or there was none), what is in
//     its workspace is what was reviewed, and nothing has happened to it for the
//     retention. What the workspace holds is saved all the same before it is removed.
//   - A session that another one continued goes when that one has gone.
//   - A saved state goes when it is older than both the retention and the time it was
//     promised for.
//   - What belongs to no session goes, unless it may hold work.
//
// A session that runs, or whose record cannot be read, stays, and with a record that
// cannot be read everything that it may refer to.

// minScratchAge is how old scratch must be: younger may be in use.
const minScratchAge = time.Hour

// GCOptions say what a clean-up takes.
type GCOptions struct {
	OlderThan time.Duration // the retention; 0 takes what was reviewed just now, too
	DryRun    bool          // report only

	minScratchAge time.Duration     // instead of the constant, for tests; negative is none
	step          func(what string) // called before each step, for tests; may be nil
}

// gc is one clean-up.
type gc struct {
	store   Store
	deps    *Deps
	options GCOptions
	report  *GCReport
	gone    map[ID]bool     // what went, or would have gone
	saves   map[string]bool // the workspaces, by session, that were saved, or would have been
	errs    []error
}

// GC removes what is not needed any more. It can be killed at any point and runs beside
// every other command: what is in use stays. One that finds another
// at work is refused. An error beside a report says what could not be removed.
func (s *Sessions) GC(ctx context.Context, options GCOptions) (*GCReport, error) {
	if options.minScratchAge == 0 {
		options.minScratchAge = minScratchAge
	}
	g := &gc{store: s.store, deps: s.deps, options: options, gone: map[ID]bool{}, saves: map[string]bool{}, report: &GCReport{
		DryRun: options.DryRun, OlderThan: amount.Duration(options.OlderThan), Freed: []Freed{}, Kept: []Kept{},
	}}
	if options.OlderThan < 0 {
		return nil, fault.New(fault.Usage, "%v is no age", options.OlderThan).Hint("--older-than 0s takes everything that was reviewed")
	}
	turn, err := g.lock()
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	for _, part := range []func(context.Context) error{g.sessions, g.repositories, g.leftovers, g.docker} {
		if err := ctx.Err(); err != nil {
			return g.report, err
		}
		g.fail(part(ctx))
	}
	return g.report, errors.Join(g.errs...)
}

// lock keeps two clean-ups from being at work at once.
func (g *gc) lock() (*flock.Lock, error) {
	if err := paths.MakePrivate(g.deps.Dirs.State); err != nil {
		return nil, fault.New(fault.Environment, "the folder for aibox's state cannot be used: %w", err)
	}
	turn, err := flock.Try(filepath.Join(g.deps.Dirs.State, "gc.lock"), flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = fault.New(fault.Environment, "another `aibox gc` is at work").Hint("wait for its end")
	}
	return turn, err
}

func (g *gc) fail(err error) {
	if err != nil {
		g.errs = append(g.errs, err)
	}
}

// do does a step, unless it is a dry run.
func (g *gc) do(what string, step func() error) error {
	if g.options.DryRun {
		return nil
	}
	g.beforeStep(what)
	return step()
}

// beforeStep lets a test know what comes next.
func (g *gc) beforeStep(what string) {
	if g.options.step != nil && !g.options.DryRun {
		g.options.step(what)
	}
}

// sessions removes those that are spent, the newest first: one that continued
// another goes before that.
func (g *gc) sessions(ctx context.Context) error {
	ids, err := g.store.ids()
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		if id.Hidden() || ctx.Err() != nil {
			continue // the repair clears verifications up
		}
		if err := g.session(ctx, id); err != nil {
			g.fail(fmt.Errorf("tidying %s: %w", id, err))
		}
	}
	return ctx.Err()
}

// session removes one session if it is spent.
func (g *gc) session(ctx context.Context, id ID) error {
	if _, spent := g.removable(id); !spent {
		return nil
	}
	g.beforeStep("lock " + string(id))
	file, err := lock(g.store.Dir(id))
	if errors.Is(err, errLocked) || errors.Is(err, fs.ErrNotExist) {
		return nil // another command works on it
	}
	if err != nil {
		return err
	}
	defer file.Close()
	session, spent := g.removable(id) // it may have changed before it was locked
	if !spent {
		return nil
	}
	if ws := session.State.Workspace; ws != nil && session.State.ContinuedBy == "" {
		done, err := g.workspace(ctx, session, ws)
		if err != nil || !done {
			return err
		}
	}
	g.count(id)
	g.gone[id] = true
	return g.do("record "+string(id), func() error { return g.store.remove(ctx, id) })
}

// count reports a session's folder, with what its agent kept apart.
func (g *gc) count(id ID) {
	dir := g.store.Dir(id)
	files, bytes := workspace.Measure(dir)
	homeFiles, homeBytes := 0, int64(0)
	for _, root := range agentstate.Roots(dir) {
		more, size := workspace.Measure(root)
		homeFiles, homeBytes = homeFiles+more, homeBytes+size
	}
	if homeFiles > 0 {
		files, bytes = files-homeFiles, bytes-homeBytes
		g.report.Add(GCConversations, string(id), homeFiles, homeBytes)
	}
	g.report.Add(GCSessions, string(id), files, bytes)
}

// removable reports whether a session can go, as far as its record tells. A reason to
// stay that the user can change is reported.
func (g *gc) removable(id ID) (*Session, bool) {
	session, err := g.store.Load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false // about to be made, or just removed
	}
	if err != nil {
		g.keepSession(id, "its record cannot be read: "+err.Error())
		return nil, false
	}
	if session.State.Phase != Ended || g.recent(&session) {
		return nil, false
	}
	if by := session.State.ContinuedBy; by != "" {
		return &session, g.gone[by] || g.isGone(by)
	}
	if hasOpenWork(&session) {
		g.keepSession(id, "not all of its work has been reviewed")
		return nil, false
	}
	return &session, true
}

// keepSession notes a session that stays, once.
func (g *gc) keepSession(id ID, why string) {
	what := "session " + string(id)
	if !slices.ContainsFunc(g.report.Kept, func(k Kept) bool { return k.What == what }) {
		g.report.Keep(what, why)
	}
}

func (g *gc) isGone(id ID) bool {
	_, err := os.Lstat(g.store.Dir(id))
	return errors.Is(err, fs.ErrNotExist)
}

// recent reports whether something has happened to the session within the
// retention: its end, a review, a session that went on with it.
func (g *gc) recent(session *Session) bool {
	last := session.State.Ended
	if info, err := os.Lstat(filepath.Join(g.store.Dir(session.ID), stateFile)); err == nil && info.ModTime().After(last) {
		last = info.ModTime()
	}
	return time.Since(last) < g.options.OlderThan
}

// workspace removes the workspace of a spent session, if it holds what was reviewed
// and no more. Not done means that it stays, and the session with it.
func (g *gc) workspace(ctx context.Context, session *Session, ws *workspace.Workspace) (done bool, err error) {
	gone, err := ws.Gone()
	if gone || err != nil {
		return gone, err
	}
	set, err := scan.Workspace(ctx, ws, scan.Options{})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		g.keepSession(session.ID, "its workspace cannot be read: "+err.Error())
		return false, nil //nolint:nilerr // reported as a reason to keep it
	}
	reviewed, err := g.fullyReviewed(session, set)
	if err != nil || !reviewed {
		why := "its workspace holds work that has not been reviewed"
		if err != nil {
			why = "what was accepted of its work is not known: " + err.Error()
		}
		g.keepSession(session.ID, why)
		return false, nil
	}
	files, bytes := workspace.Measure(ws.Path)
	g.report.Add(GCWorkspaces, ws.Path, files, bytes)
	if !set.Empty() {
		g.saves[ws.Session] = true
		err := g.do("save "+string(session.ID), func() error {
			_, err := recovery.Save(ctx, ws, set, recovery.Collected)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return true, g.do("workspace "+string(session.ID), func() error { return workspace.Remove(ctx, ws) })
}

// fullyReviewed reports whether the user has decided on all of set, which is what the
// workspace of a reviewed session holds now.
func (g *gc) fullyReviewed(session *Session, set *review.ChangeSet) (bool, error) {
	if set.Empty() {
		return true, nil
	}
	decisions, err := g.store.decisions(session.ID)
	if err != nil {
		return false, err
	}
	result := session.State.Result
	asEnded := result != nil && result.Changes.Tree == set.Tree
	switch session.State.Review {
	case Accepted: // without decisions all was taken at once
		return decisions.Taken.Complete(set) || decisions.Taken.Empty() && asEnded, nil
	case Discarded:
		return asEnded, nil
	default:
		return false, nil
	}
}
