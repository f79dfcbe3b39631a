package worktree_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/review/reviewtest"
)

// TestDeliveryWorksInAnyRepositoryState has one case for each state a
// repository may be in while work is put onto its working tree.
func TestDeliveryWorksInAnyRepositoryState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(b *reviewtest.Fixture) // before the workspace is prepared; may move b.repo
		user func(b *reviewtest.Fixture) // after the agent's work
	}{
		{"clean", nil, nil},
		{"a dirty index", nil, func(b *reviewtest.Fixture) {
			b.User("staged", "staged\n")
			b.User("b.txt", "staged\n")
			reviewtest.GitIn(b.T, b.Repo, "add", "-A")
			b.User("b.txt", "b\n")
		}},
		{"the file itself staged", func(b *reviewtest.Fixture) {
			b.User("a.txt", reviewtest.Ten+"staged\n")
			reviewtest.GitIn(b.T, b.Repo, "add", "a.txt")
			b.User("a.txt", reviewtest.Ten)
		}, nil},
		{"the file removed from the index", nil, func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "rm", "-q", "--cached", "a.txt") }},
		{"a detached HEAD", func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "checkout", "-q", "--detach") }, nil},
		{"another branch", nil, func(b *reviewtest.Fixture) {
			reviewtest.GitIn(b.T, b.Repo, "checkout", "-q", "-b", "other")
			b.User("b.txt", "other\n")
			reviewtest.GitIn(b.T, b.Repo, "commit", "-qam", "other")
		}},
		{"a linked working tree", func(b *reviewtest.Fixture) {
			linked := filepath.Join(b.T.TempDir(), "linked")
			reviewtest.GitIn(b.T, b.Repo, "worktree", "add", "-q", linked)
			b.Repo = linked
		}, nil},
		{"a configuration of its own per working tree", func(b *reviewtest.Fixture) {
			linked := filepath.Join(b.T.TempDir(), "linked")
			reviewtest.GitIn(b.T, b.Repo, "worktree", "add", "-q", linked)
			reviewtest.GitIn(b.T, b.Repo, "config", "extensions.worktreeConfig", "true")
			reviewtest.GitIn(b.T, linked, "config", "--worktree", "core.eol", "lf")
			b.Repo = linked
		}, nil},
		{"a merge that is not finished elsewhere", nil, leaveMerge},
		{"a sparse checkout of something else", func(b *reviewtest.Fixture) {
			reviewtest.GitIn(b.T, b.Repo, "sparse-checkout", "set", "--no-cone", "/*", "!/d/")
		}, nil},
		{"a sparse index", func(b *reviewtest.Fixture) {
			reviewtest.GitIn(b.T, b.Repo, "sparse-checkout", "set", "--cone", "--sparse-index", "e")
		}, nil},
		{"SHA-256", func(b *reviewtest.Fixture) {
			other := filepath.Join(b.T.TempDir(), "project")
			reviewtest.Must(b.T, os.Mkdir(other, 0o755))
			reviewtest.GitIn(b.T, other, "init", "-q", "--object-format=sha256")
			b.Repo = other
			b.User("a.txt", reviewtest.Ten)
			b.User("b.txt", "b\n")
			reviewtest.GitIn(b.T, b.Repo, "add", "-A")
			reviewtest.GitIn(b.T, b.Repo, "commit", "-qm", "start")
		}, nil},
		{"no commit yet", func(b *reviewtest.Fixture) {
			other := filepath.Join(b.T.TempDir(), "project")
			reviewtest.Must(b.T, os.Mkdir(other, 0o755))
			reviewtest.GitIn(b.T, other, "init", "-q")
			b.Repo = other
			b.User("a.txt", reviewtest.Ten)
		}, nil},
		{"uncommitted work", func(b *reviewtest.Fixture) {
			b.User("b.txt", "uncommitted\n")
			b.User("untracked", "untracked\n")
		}, nil},
		{"a branch of its own for the work", nil, func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "branch", "aibox") }},
		{"a lock on the index", nil, func(b *reviewtest.Fixture) { b.User(".git/index.lock", "") }},
		{"a monitor and hooks", nil, func(b *reviewtest.Fixture) {
			reviewtest.GitIn(b.T, b.Repo, "config", "core.fsmonitor", "touch "+b.InRepo("canary"))
			b.User(".git/hooks/post-index-change", "#!/bin/sh\ntouch "+b.InRepo("canary")+"\n")
			reviewtest.Must(b.T, os.Chmod(b.InRepo(".git/hooks/post-index-change"), 0o755))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten, "b.txt": "b\n", "d/c.txt": "c\n", "e/e.txt": "e\n"})
			if c.set != nil {
				c.set(b)
			}
			b.Prepare()
			b.Write("a.txt", reviewtest.Ten+"agent\n")
			b.Write("new", "agent\n")
			if c.user != nil {
				c.user(b)
			}
			gitDir := reviewtest.GitIn(t, b.Repo, "rev-parse", "--absolute-git-dir")
			untouched := func() map[string]string {
				all := reviewtest.Picture(t, gitDir)
				// A sparse index makes git look up trees in its object store, which updates
				// their times.
				maps.DeleteFunc(all, func(path, _ string) bool { return strings.HasPrefix(path, gitDir+"/objects/") })
				return all
			}
			before := untouched()
			mustPlace(b)
			b.Holds("a.txt", reviewtest.Ten+"agent\n")
			b.Holds("new", "agent\n")
			if diff := cmp.Diff(before, untouched()); diff != "" {
				t.Errorf("something in .git was touched:\n%s", diff)
			}
			if _, err := os.Lstat(b.InRepo("canary")); err == nil {
				t.Error("something ran")
			}
		})
	}
}

// TestPermissionsThatGitDoesNotCompareStay has a repository that ignores the executable bit, such as one
// that was made on a disk without it.
func TestPermissionsThatGitDoesNotCompareStay(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"tool.sh": reviewtest.Ten, "plain.txt": reviewtest.Ten})
	reviewtest.GitIn(t, b.Repo, "update-index", "--chmod=+x", "plain.txt")
	reviewtest.GitIn(t, b.Repo, "commit", "-qm", "executable for others")
	reviewtest.GitIn(t, b.Repo, "config", "core.fileMode", "false")
	reviewtest.Must(t, os.Chmod(b.InRepo("tool.sh"), 0o750))
	b.Prepare()
	b.Write("tool.sh", reviewtest.Ten+"11\n")
	b.Write("plain.txt", reviewtest.Ten+"11\n")
	mustPlace(b)
	for name, want := range map[string]os.FileMode{"tool.sh": 0o750, "plain.txt": 0o644} {
		info, err := os.Stat(b.InRepo(name))
		reviewtest.Must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has the permissions %v, want %v", name, info.Mode(), want)
		}
		b.Holds(name, reviewtest.Ten+"11\n")
	}
}
