package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"aibox/review/recovery"
	"aibox/session"
	"aibox/workspace"
)

// references holds everything to which records refer.
type references struct {
	refs    map[string]bool // sessions with workspaces
	stores  map[string]bool // repositories that aibox owns
	sources map[string]bool // the user's repositories and submodules, and clones of URLs
	folders map[string]bool // workspaces, also those that a dry run would remove
	ending  map[string]bool // sessions whose workspaces a dry run would remove
	images  map[string]bool // ids and references
	damaged bool            // a record is unreadable, so there may be more references
}

// references reads all records.
func (c *cleaner) references() (references, error) {
	r := references{refs: map[string]bool{}, stores: map[string]bool{}, sources: map[string]bool{}, folders: map[string]bool{}, ending: map[string]bool{}, images: map[string]bool{}}
	ids, err := c.store.IDs()
	if err != nil {
		return r, err
	}
	for _, id := range ids {
		s, err := c.store.Load(id)
		if c.gone[id] {
			if ws := s.State.Workspace; ws != nil {
				r.folders[ws.Path], r.ending[ws.Session] = true, true
			}
			continue
		}
		r.damaged = r.damaged || c.incomplete(&s, id, err)
		r.images[s.Image], r.images[string(s.State.ImageID)] = true, true
		if ws := s.State.Workspace; ws != nil {
			r.refs[ws.Session], r.stores[ws.GitDir], r.sources[ws.Repo], r.folders[ws.Path] = true, true, true, true
			for _, module := range ws.Modules {
				r.sources[module.GitDir] = true
			}
		}
	}
	return r, nil
}

// incomplete reports whether the record of a session, which was loaded with err, may lack
// references, because a part of it is damaged or missing.
func (c *cleaner) incomplete(s *session.Session, id session.ID, err error) bool {
	switch {
	case errors.Is(err, fs.ErrNotExist): // otherwise it is about to be created
		return c.store.MayHoldWork(id)
	case err != nil:
		return true
	case s.State.Workspace != nil || s.IsSandbox():
		return false
	default: // it was damaged, and was only partly restored; or its state is missing
		return !s.State.Started.IsZero() || s.State.Supervisor.PID == 0 && !c.store.History(id).AgentStarted.IsZero()
	}
}

// repositories drops the expired states and the unneeded refs in each repository that
// aibox owns, and removes repositories that become empty.
func (c *cleaner) repositories(ctx context.Context) error {
	all, err := workspace.Repositories(c.dirs)
	if err != nil {
		return err
	}
	for _, gitDir := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := c.repository(ctx, gitDir)
		switch {
		case errors.Is(err, workspace.ErrBusy):
			c.report.Keep("repository "+gitDir, err.Error())
		case err != nil:
			c.fail(fmt.Errorf("cleaning the repository %s: %w", gitDir, err))
		}
	}
	return nil
}

func (c *cleaner) repository(ctx context.Context, gitDir string) error {
	maintenance, err := workspace.Maintain(ctx, gitDir, c.options.DryRun)
	if err != nil {
		return err
	}
	defer maintenance.Close()
	// Read the records after that: a session has a record before it can write here.
	known, err := c.references()
	if err != nil {
		return err
	}
	if err := c.expire(ctx, maintenance, gitDir); err != nil {
		return err
	}
	if known.damaged {
		c.report.Keep("repository "+gitDir, errUnknownNeed.Error())
		return nil
	}
	lost, err := c.lostWorkspaces(known)
	if err != nil {
		return err
	}
	kept := false
	for _, name := range maintenance.Sessions() {
		if known.refs[name] || c.options.DryRun && c.saves[name] { // a saved state would replace it
			continue
		}
		if lost && !known.ending[name] && maintenance.HasBaseline(name) {
			if !kept {
				c.report.Keep("repository "+gitDir, "a workspace without a session may be that of "+name+", which has a baseline and no record")
			}
			kept = true
			continue
		}
		c.beforeStep("refs of " + name)
		if err := maintenance.Forget(ctx, name); err != nil {
			return err
		}
	}
	if !kept && maintenance.Empty() && !known.stores[gitDir] {
		files, bytes := workspace.Measure(gitDir)
		if err := c.do("repository "+gitDir, func() error { return maintenance.Remove(ctx) }); err != nil {
			return err
		}
		c.goneRepositories[gitDir] = true
		c.report.Add(KindRepositories, gitDir, files, bytes)
		return nil
	}
	c.beforeStep("objects of " + gitDir)
	objects, bytes, err := maintenance.Collect(ctx)
	if objects > 0 {
		c.report.Add(KindObjects, gitDir, 0, bytes)
		c.report.Freed[len(c.report.Freed)-1].Count += objects - 1
	}
	return err
}

// lostWorkspaces reports whether there is a workspace to which no record refers. Its session
// was not removed by aibox, which removes the workspace and the baseline first: the records
// may be elsewhere.
func (c *cleaner) lostWorkspaces(known references) (bool, error) {
	found, err := workspace.Leftovers(c.dirs, -1, func(path string) bool { return known.folders[path] })
	return slices.ContainsFunc(found, func(l workspace.Leftover) bool { return l.Unknown }), err
}

// expire drops expired states.
func (c *cleaner) expire(ctx context.Context, maintenance *workspace.Maintenance, gitDir string) error {
	saved, err := recovery.PointsIn(ctx, gitDir)
	if err != nil {
		return err
	}
	var refs, names []string
	for _, state := range saved {
		if time.Since(state.When) < max(recovery.Retention, c.options.OlderThan) {
			continue
		}
		refs, names = append(refs, state.Ref), append(names, fmt.Sprintf("%s/%d", state.Session, state.Number))
	}
	c.beforeStep("saved states of " + gitDir)
	if err := maintenance.Drop(ctx, refs...); err != nil {
		return err
	}
	for _, name := range names {
		c.report.Add(KindSaved, name, 0, 0)
	}
	return nil
}
