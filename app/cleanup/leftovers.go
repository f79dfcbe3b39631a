package cleanup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aibox/runtime"
	"aibox/session/manager"
	"aibox/workspace"
)

// leftovers removes the remains of interrupted commands.
func (c *cleaner) leftovers(ctx context.Context) error {
	known, err := c.references()
	if err != nil {
		return err
	}
	age := max(c.options.minScratchAge, 0)
	found, err := workspace.Leftovers(c.dirs, age, func(path string) bool { return known.folders[path] })
	if err != nil {
		return err
	}
	records, err := os.ReadDir(c.dirs.Sessions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range records {
		if path := filepath.Join(c.dirs.Sessions(), entry.Name()); strings.HasPrefix(entry.Name(), ".") && workspace.Unchanged(path, age) {
			found = append(found, workspace.Leftover{Path: path})
		}
	}
	for _, left := range found {
		switch {
		case left.Unknown && known.damaged:
			c.report.Keep(left.Path, "a session whose record cannot be read may have it")
		case left.Unknown:
			c.report.Keep(left.Path, "no session refers to it, and its content has not been reviewed")
		default:
			files, bytes := workspace.Measure(left.Path)
			if err := c.do("scratch "+left.Path, func() error { return left.Remove(ctx) }); err != nil {
				c.fail(err)
				continue
			}
			c.report.Add(KindScratch, left.Path, files, bytes)
		}
	}
	return nil
}

// sandboxesAndNetworks removes leftover sandboxes and networks.
func (c *cleaner) sandboxesAndNetworks(ctx context.Context) error {
	docker, err := c.docker(ctx)
	if err != nil {
		c.report.Keep("sandboxes and networks", err.Error())
		return nil
	}
	return errors.Join(c.sandboxes(ctx, docker.Backend), c.networks(ctx, docker.Networks))
}

// sandboxes removes the sandboxes of sessions that have no record or have ended.
func (c *cleaner) sandboxes(ctx context.Context, backend runtime.Backend) error {
	orphans, err := manager.Orphans(ctx, c.store, backend)
	if err != nil {
		return err
	}
	var errs []error
	for _, sandbox := range orphans {
		if !c.options.DryRun {
			if err := sandbox.Destroy(ctx); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		c.report.Add(KindSandboxes, sandbox.Session(), 0, 0)
	}
	return errors.Join(errs...)
}

// networks removes unused bridges of the pool.
func (c *cleaner) networks(ctx context.Context, networks runtime.Networks) error {
	removed, err := networks.Prune(ctx, c.options.DryRun)
	for _, network := range removed {
		c.report.Add(KindNetworks, network.Bridge, 0, 0)
	}
	return err
}
