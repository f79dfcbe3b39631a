package cleanup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"aibox/internal/git"
	"aibox/review/recovery"
	"aibox/workspace"
)

// clones removes the clones of URLs that were not used during the retention. It keeps those that have
// work which their servers do not have.
func (c *cleaner) clones(ctx context.Context) error {
	for _, dir := range workspace.Clones(c.dirs) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := workspace.UnusedClone(ctx, dir, c.options.OlderThan, func() (bool, error) { return c.needClone(ctx, dir) }, func() error {
			files, bytes := workspace.Measure(dir)
			err := c.do("clone "+dir, func() error { return workspace.RemoveFolder(ctx, dir) })
			if err == nil {
				c.report.Add(KindClones, dir, files, bytes)
			}
			return err
		})
		switch {
		case errors.Is(err, workspace.ErrBusy), errors.Is(err, workspace.ErrWork), errors.Is(err, errUnknownNeed):
			c.report.Keep("clone "+dir, err.Error())
		case err != nil:
			c.fail(fmt.Errorf("removing the clone %s: %w", dir, err))
		}
	}
	return nil
}

// errUnknownNeed is why data stays to which an unreadable record may refer.
var errUnknownNeed = errors.New("a session whose record cannot be read may need it")

// needClone reports whether a session or a saved state has its work in a clone, of a repository or of a
// submodule, or in a repository of aibox that belongs to the clone.
func (c *cleaner) needClone(ctx context.Context, dir string) (bool, error) {
	real, err := filepath.EvalSymlinks(dir) // so git names the clone of a submodule
	if err != nil {
		return true, err
	}
	known, err := c.references()
	if err != nil || known.sources[dir] || known.sources[real] {
		return true, err
	}
	owned, err := workspace.Repositories(c.dirs)
	if err != nil {
		return true, err
	}
	for _, gitDir := range owned {
		if c.goneRepositories[gitDir] {
			continue
		}
		of, err := os.ReadFile(filepath.Join(gitDir, "aibox", "repository"))
		if err != nil || string(of) == dir || string(of) == real {
			return true, err
		}
		if needed, err := savedStatesNeed(ctx, gitDir, dir, real); needed || err != nil {
			return true, err
		}
	}
	if known.damaged {
		return true, errUnknownNeed
	}
	return false, nil
}

// savedStatesNeed reports whether a state that is saved in a repository of aibox has work in a submodule
// whose clone has one of the names.
func savedStatesNeed(ctx context.Context, gitDir string, names ...string) (bool, error) {
	saved, err := recovery.PointsIn(ctx, gitDir)
	if err != nil {
		return true, err
	}
	for i := range saved {
		modules, _, err := saved[i].Origin(ctx, git.Owned(gitDir))
		if err != nil {
			return true, err
		}
		if slices.ContainsFunc(modules, func(m workspace.Module) bool { return slices.Contains(names, m.GitDir) }) {
			return true, nil
		}
	}
	return false, nil
}
