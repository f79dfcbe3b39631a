package review_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheStateOfTheRepositoryDoesNotMatterToTheFiles has one case for each state a
// repository may be in while work is put onto its working tree.
func TestTheStateOfTheRepositoryDoesNotMatterToTheFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(b *bench) // before the workspace is prepared; may move b.repo
		user func(b *bench) // after the agent's work
	}{
		{"clean", nil, nil},
		{"a dirty index", nil, func(b *bench) {
			b.user("staged", "staged\n")
			b.user("b.txt", "staged\n")
			gitIn(b.t, b.repo, "add", "-A")
			b.user("b.txt", "b\n")
		}},
		{"the file itself staged", func(b *bench) {
			b.user("a.txt", ten+"staged\n")
			gitIn(b.t, b.repo, "add", "a.txt")
			b.user("a.txt", ten)
		}, nil},
		{"the file removed from the index", nil, func(b *bench) { gitIn(b.t, b.repo, "rm", "-q", "--cached", "a.txt") }},
		{"a detached HEAD", func(b *bench) { gitIn(b.t, b.repo, "checkout", "-q", "--detach") }, nil},
		{"another branch", nil, func(b *bench) {
			gitIn(b.t, b.repo, "checkout", "-q", "-b", "other")
			b.user("b.txt", "other\n")
			gitIn(b.t, b.repo, "commit", "-qam", "other")
		}},
		{"a linked working tree", func(b *bench) {
			linked := filepath.Join(b.t.TempDir(), "linked")
			gitIn(b.t, b.repo, "worktree", "add", "-q", linked)
			b.repo = linked
		}, nil},
		{"a configuration of its own per working tree", func(b *bench) {
			linked := filepath.Join(b.t.TempDir(), "linked")
			gitIn(b.t, b.repo, "worktree", "add", "-q", linked)
			gitIn(b.t, b.repo, "config", "extensions.worktreeConfig", "true")
			gitIn(b.t, linked, "config", "--worktree", "core.eol", "lf")
			b.repo = linked
		}, nil},
		{"a merge that is not finished elsewhere", nil, leaveMerge},
		{"a sparse checkout of something else", func(b *bench) {
			gitIn(b.t, b.repo, "sparse-checkout", "set", "--no-cone", "/*", "!/d/")
		}, nil},
		{"a sparse index", func(b *bench) {
			gitIn(b.t, b.repo, "sparse-checkout", "set", "--cone", "--sparse-index", "e")
		}, nil},
		{"SHA-256", func(b *bench) {
			other := filepath.Join(b.t.TempDir(), "project")
			must(b.t, os.Mkdir(other, 0o755))
			gitIn(b.t, other, "init", "-q", "--object-format=sha256")
			b.repo = other
			b.user("a.txt", ten)
			b.user("b.txt", "b\n")
			gitIn(b.t, b.repo, "add", "-A")
			gitIn(b.t, b.repo, "commit", "-qm", "start")
		}, nil},
		{"no commit yet", func(b *bench) {
			other := filepath.Join(b.t.TempDir(), "project")
			must(b.t, os.Mkdir(other, 0o755))
			gitIn(b.t, other, "init", "-q")
			b.repo = other
			b.user("a.txt", ten)
		}, nil},
		{"uncommitted work", func(b *bench) {
			b.user("b.txt", "uncommitted\n")
			b.user("untracked", "untracked\n")
		}, nil},
		{"a branch of its own for the work", nil, func(b *bench) { gitIn(b.t, b.repo, "branch", "aibox") }},
		{"a lock on the index", nil, func(b *bench) { b.user(".git/index.lock", "") }},
		{"a monitor and hooks", nil, func(b *bench) {
			gitIn(b.t, b.repo, "config", "core.fsmonitor", "touch "+b.inRepo("canary"))
			b.user(".git/hooks/post-index-change", "#!/bin/sh\ntouch "+b.inRepo("canary")+"\n")
			must(b.t, os.Chmod(b.inRepo(".git/hooks/post-index-change"), 0o755))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRepository(t, map[string]string{"a.txt": ten, "b.txt": "b\n", "d/c.txt": "c\n", "e/e.txt": "e\n"})
			if c.set != nil {
				c.set(b)
			}
			b.prepare()
			b.write("a.txt", ten+"agent\n")
			b.write("new", "agent\n")
			if c.user != nil {
				c.user(b)
			}
			gitDir := gitIn(t, b.repo, "rev-parse", "--absolute-git-dir")
			untouched := func() map[string]string {
				all := picture(t, gitDir)
				// A sparse index makes git look for trees among the objects it has, which
				// renews their times.
				maps.DeleteFunc(all, func(path, _ string) bool { return strings.HasPrefix(path, gitDir+"/objects/") })
				return all
			}
			before := untouched()
			mustPlace(b)
			b.holds("a.txt", ten+"agent\n")
			b.holds("new", "agent\n")
			if diff := cmp.Diff(before, untouched()); diff != "" {
				t.Errorf("something in .git was touched:\n%s", diff)
			}
			if _, err := os.Lstat(b.inRepo("canary")); err == nil {
				t.Error("something ran")
			}
		})
	}
}
