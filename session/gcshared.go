package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/review/recovery"
	"aibox/runtime"
	"aibox/workspace"
)

// references holds everything that records refer to.
type references struct {
	refs    map[string]bool // sessions with workspaces
	stores  map[string]bool // repositories that aibox owns
	folders map[string]bool // workspaces
	images  map[string]bool // ids and references
	damaged bool            // a record is unreadable, so there may be more references
}

// references reads all records.
func (g *gc) references() (references, error) {
	r := references{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, false}
	ids, err := g.store.ids()
	if err != nil {
		return r, err
	}
	for _, id := range ids {
		if g.gone[id] {
			continue
		}
		session, err := g.store.Load(id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.damaged = true
		}
		r.images[session.Image], r.images[string(session.State.ImageID)] = true, true
		if ws := session.State.Workspace; ws != nil {
			r.refs[ws.Session], r.stores[ws.GitDir], r.folders[ws.Path] = true, true, true
		}
	}
	return r, nil
}

// repositories drops the expired states and the unneeded refs in each repository that
// aibox owns, and removes repositories that become empty.
func (g *gc) repositories(ctx context.Context) error {
	all, err := workspace.Repositories(g.deps.Dirs)
	if err != nil {
		return err
	}
	for _, gitDir := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := g.repository(ctx, gitDir)
		switch {
		case errors.Is(err, workspace.ErrBusy):
			g.report.Keep("repository "+gitDir, err.Error())
		case err != nil:
			g.fail(fmt.Errorf("tidying the repository %s: %w", gitDir, err))
		}
	}
	return nil
}

func (g *gc) repository(ctx context.Context, gitDir string) error {
	tidying, err := workspace.Tidy(ctx, gitDir, g.options.DryRun)
	if err != nil {
		return err
	}
	defer tidying.Close()
	// Read the records only now: a session is on record before it can write here.
	known, err := g.references()
	if err != nil {
		return err
	}
	if err := g.expire(ctx, tidying, gitDir); err != nil {
		return err
	}
	if known.damaged {
		g.report.Keep("repository "+gitDir, "a session whose record cannot be read may need it")
		return nil
	}
	for _, session := range tidying.Sessions() {
		if known.refs[session] || g.options.DryRun && g.saves[session] { // a saved state would replace it
			continue
		}
		g.beforeStep("refs of " + session)
		if err := tidying.Forget(ctx, session); err != nil {
			return err
		}
	}
	if tidying.Empty() && !known.stores[gitDir] {
		files, bytes := workspace.Measure(gitDir)
		if err := g.do("repository "+gitDir, func() error { return tidying.Remove(ctx) }); err != nil {
			return err
		}
		g.report.Add(GCRepositories, gitDir, files, bytes)
		return nil
	}
	g.beforeStep("objects of " + gitDir)
	objects, bytes, err := tidying.Collect(ctx)
	if objects > 0 {
		g.report.Add(GCObjects, gitDir, 0, bytes)
		g.report.Freed[len(g.report.Freed)-1].Count += objects - 1
	}
	return err
}

// expire drops expired states.
func (g *gc) expire(ctx context.Context, tidying *workspace.Tidying, gitDir string) error {
	saved, err := recovery.PointsIn(ctx, gitDir)
	if err != nil {
		return err
	}
	var refs []string
	for _, state := range saved {
		if time.Since(state.When) < max(recovery.Retention, g.options.OlderThan) {
			continue
		}
		refs = append(refs, state.Ref)
		g.report.Add(GCSaved, fmt.Sprintf("%s/%d", state.Session, state.Number), 0, 0)
	}
	g.beforeStep("saved states of " + gitDir)
	return tidying.Drop(ctx, refs...)
}

// leftovers removes the remains of interrupted commands.
func (g *gc) leftovers(ctx context.Context) error {
	known, err := g.references()
	if err != nil {
		return err
	}
	age := max(g.options.minScratchAge, 0)
	found, err := workspace.Leftovers(g.deps.Dirs, age, func(path string) bool { return known.folders[path] })
	if err != nil {
		return err
	}
	records, err := os.ReadDir(g.store.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range records {
		if path := filepath.Join(g.store.root, entry.Name()); strings.HasPrefix(entry.Name(), ".") && workspace.Unchanged(path, age) {
			found = append(found, workspace.Leftover{Path: path})
		}
	}
	for _, left := range found {
		switch {
		case left.Unknown && known.damaged:
			g.report.Keep(left.Path, "a session whose record cannot be read may have it")
		case left.Unknown:
			g.report.Keep(left.Path, "no session refers to it, and its content has not been reviewed")
		default:
			files, bytes := workspace.Measure(left.Path)
			if err := g.do("scratch "+left.Path, func() error { return left.Remove(ctx) }); err != nil {
				g.fail(err)
				continue
			}
			g.report.Add(GCScratch, left.Path, files, bytes)
		}
	}
	return nil
}

// docker removes leftover sandboxes and networks.
func (g *gc) docker(ctx context.Context) error {
	docker, err := g.deps.Docker(ctx)
	if err != nil {
		g.report.Keep("sandboxes and networks", err.Error())
		return nil
	}
	return errors.Join(g.containers(ctx, docker.Backend), g.networks(ctx, docker.Networks))
}

// containers removes those of sessions that are not on record. A session is on record
// before its sandbox is created, so a sandbox without a record is orphaned.
func (g *gc) containers(ctx context.Context, backend runtime.Backend) error {
	containers, err := backend.Sandboxes(ctx)
	if err != nil {
		return err
	}
	for _, container := range containers {
		id, ours := g.store.idOf(container.Session())
		if !ours {
			continue
		}
		if _, err := os.Lstat(g.store.Dir(id)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !g.options.DryRun {
			if err := container.Destroy(ctx); err != nil {
				return err
			}
		}
		g.report.Add(GCSandboxes, container.Session(), 0, 0)
	}
	return nil
}

// networks removes unused bridges of the pool.
func (g *gc) networks(ctx context.Context, networks runtime.Networks) error {
	removed, err := networks.Prune(ctx, g.options.DryRun)
	for _, network := range removed {
		g.report.Add(GCNetworks, network.Bridge, 0, 0)
	}
	return err
}

// Images returns the images that records name, by id and by reference. known is false
// when a record is unreadable, so that there may be more.
func (s *Sessions) Images() (named map[string]bool, known bool, err error) {
	r, err := (&gc{store: s.store, deps: s.deps}).references()
	return r.images, !r.damaged, err
}
