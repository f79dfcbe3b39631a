package session

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/review/recovery"
	"aibox/workspace"
)

const month = 30 * 24 * time.Hour

// collect tidies with a retention of a month, and scratch of any age.
func (d *fixture) collect(change ...func(*GCOptions)) *GCReport {
	d.t.Helper()
	options := GCOptions{OlderThan: month, minScratchAge: -1}
	for _, f := range change {
		f(&options)
	}
	report, err := d.GC(d.t.Context(), options)
	d.must(err)
	return report
}

func dryRun(o *GCOptions) { o.DryRun = true }

// freed is what a report says, as "kind count: names", one line a kind.
func freed(r *GCReport) string {
	var lines []string
	for _, f := range r.Freed {
		names := slices.Clone(f.Names)
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		if f.Kind == GCObjects {
			f.Count = len(names) // a dry run cannot count them to the last one
		}
		lines = append(lines, fmt.Sprintf("%s %d: %s", f.Kind, f.Count, strings.Join(names, " ")))
	}
	return strings.Join(lines, "\n")
}

// accepted is an ended session all of whose work is on a branch.
func (d *fixture) accepted(id ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	ws := d.ended(id, files...)
	_, err := d.Accept(d.t.Context(), id, everything)
	d.must(err)
	return ws
}

// predate makes saved states and the objects of a repository look as old as that.
func (d *fixture) predate(gitDir string, age time.Duration) {
	d.t.Helper()
	then := now().Add(-age)
	saved, err := recovery.PointsIn(d.t.Context(), gitDir)
	d.must(err)
	for _, s := range saved {
		old := d.gitIn(gitDir, "-c", "user.name=aibox", "-c", "user.email=aibox@localhost", "log", "-1", "--format=%s", s.Commit)
		cmd := exec.CommandContext(d.t.Context(), "git", "--git-dir", gitDir, "commit-tree", "-p", s.Base, "-m", old, s.Commit+"^{tree}")
		date := fmt.Sprintf("%d +0000", then.Unix())
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		commit, err := cmd.Output()
		d.must(err)
		d.gitIn(gitDir, "update-ref", s.Ref, strings.TrimSpace(string(commit)))
	}
	d.must(filepath.WalkDir(filepath.Join(gitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// everything lists what there is of aibox's, but for locks and git's objects.
func (d *fixture) everything() []string {
	var all []string
	for _, root := range []string{d.dirs.State, d.dirs.Data, d.dirs.Workspace} {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "lock") && !strings.Contains(path, ".git/objects") {
				all = append(all, path)
			}
			return nil
		})
	}
	return all
}
