package scan

import (
	"context"
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
	"aibox/workspace"
)

// Ignores reports whether the rules leave path out.
func Ignores(rules []workspace.IgnoreFile, path string, dir bool) bool {
	return newIgnoreRules(rules).Match(path, dir)
}

// Reading is the result of Reread for one path.
type Reading struct {
	Path, ID, Refused string
	Changed           bool
}

// Reread walks and reads the workspace as Compute does, that many times; only the commit
// and the comparison, which are git's work, are left out. It calls each with every result.
func Reread(ctx context.Context, ws *workspace.Workspace, times int, each func([]Reading)) error {
	opts := Options{}.withDefaults()
	baseline, err := workspace.LoadBaseline(ws.Baseline)
	if err != nil {
		return err
	}
	im := git.Owned(ws.GitDir).Import(ctx)
	defer func() { _ = im.End(errors.New("nothing of it is kept")) }()
	scratch := filepath.Join(ws.GitDir, "aibox")
	for range times {
		root, device, err := openWorkspace(ws)
		if err != nil {
			return err
		}
		w := newWalk(root, device, baseline, ws, opts, scratch)
		var readings []Reading
		c := &collector{
			walk: w, opts: opts, format: baseline.Format, scratch: scratch, im: im, made: newResults(scratch, opts.MaxListed),
			each: func(cand candidate, out outcome) {
				readings = append(readings, Reading{Path: cand.path, ID: out.entry.ID, Refused: out.refused, Changed: out.changed})
			},
		}
		err = w.run(ctx, opts.Workers)
		if err == nil {
			err = c.collect(ctx)
		}
		unix.Close(root)
		w.close()
		c.made.changed.Close()
		if err != nil {
			return err
		}
		each(readings)
	}
	return nil
}
