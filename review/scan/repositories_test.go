package scan_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// unusual are repositories that are not just a folder with a branch checked out.
// Each makes one from a plain repository and returns the folder to work in.
var unusual = map[string]func(t *testing.T, b *reviewtest.Fixture) string{
	"a detached HEAD": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "checkout", "-q", "--detach")
		return b.Repo
	},
	"a linked worktree": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := filepath.Join(t.TempDir(), "linked")
		reviewtest.GitIn(t, b.Repo, "worktree", "add", "-q", "-b", "side", dir)
		return dir
	},
	"a detached linked worktree with settings of its own": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := filepath.Join(t.TempDir(), "linked")
		reviewtest.GitIn(t, b.Repo, "worktree", "add", "-q", "--detach", dir)
		reviewtest.GitIn(t, b.Repo, "config", "extensions.worktreeConfig", "true")
		reviewtest.GitIn(t, dir, "config", "--worktree", "user.name", "Wanda")
		return dir
	},
	"a main worktree with settings of its own": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "config", "extensions.worktreeConfig", "true")
		reviewtest.GitIn(t, b.Repo, "config", "--worktree", "core.autocrlf", "false")
		return b.Repo
	},
	"a separate git folder": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "away.git"))
		return b.Repo
	},
	"a submodule": func(t *testing.T, b *reviewtest.Fixture) string {
		sub := reviewtest.NewRepository(t, map[string]string{"lib.c": "int x;\n"})
		reviewtest.GitIn(t, b.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.Repo, "vendor/lib")
		reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "a submodule")
		return b.Repo
	},
	"inside a submodule": func(t *testing.T, b *reviewtest.Fixture) string {
		outer := reviewtest.NewRepository(t, map[string]string{"top.txt": "top\n"})
		reviewtest.GitIn(t, outer.Repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", b.Repo, "lib")
		reviewtest.GitIn(t, outer.Repo, "commit", "-q", "-m", "a submodule")
		return filepath.Join(outer.Repo, "lib")
	},
	"a sparse checkout": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "sparse-checkout", "set", "--cone", "src")
		if _, err := os.Stat(filepath.Join(b.Repo, "docs")); err == nil {
			t.Fatal("docs is checked out")
		}
		return b.Repo
	},
	"a sparse checkout with a sparse index": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "sparse-checkout", "set", "--cone", "--sparse-index", "src")
		return b.Repo
	},
	"a shallow clone": func(t *testing.T, b *reviewtest.Fixture) string {
		reviewtest.GitIn(t, b.Repo, "commit", "-q", "--allow-empty", "-m", "second")
		dir := filepath.Join(t.TempDir(), "shallow")
		reviewtest.GitIn(t, b.Repo, "clone", "-q", "--depth=1", "file://"+b.Repo, dir)
		return dir
	},
	"a repository with SHA-256 ids": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := filepath.Join(t.TempDir(), "long")
		reviewtest.Must(t, os.Mkdir(dir, 0o755))
		reviewtest.GitIn(t, dir, "init", "-q", "-b", "main", "--object-format=sha256")
		copyInto(t, b.Repo, dir, "src/a.txt", "docs/b.txt")
		reviewtest.GitIn(t, dir, "add", "-A")
		reviewtest.GitIn(t, dir, "commit", "-q", "-m", "start")
		return dir
	},
	"a partial clone": func(t *testing.T, b *reviewtest.Fixture) string { return partial(t, b) },
	"a partial clone, checked out sparsely": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := partial(t, b, "--sparse")
		reviewtest.GitIn(t, dir, "-c", "protocol.file.allow=always", "sparse-checkout", "set", "src")
		return dir
	},
	"no commit at all": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := filepath.Join(t.TempDir(), "fresh")
		reviewtest.Must(t, os.Mkdir(dir, 0o755))
		reviewtest.GitIn(t, dir, "init", "-q", "-b", "main")
		copyInto(t, b.Repo, dir, "src/a.txt", "docs/b.txt")
		return dir
	},
	"no commit and an index": func(t *testing.T, b *reviewtest.Fixture) string {
		dir := filepath.Join(t.TempDir(), "fresh")
		reviewtest.Must(t, os.Mkdir(dir, 0o755))
		reviewtest.GitIn(t, dir, "init", "-q", "-b", "main")
		copyInto(t, b.Repo, dir, "src/a.txt", "docs/b.txt")
		reviewtest.GitIn(t, dir, "add", "src")
		return dir
	},
}

// partial clones the repository without the contents of its older commits.
func partial(t *testing.T, b *reviewtest.Fixture, options ...string) string {
	t.Helper()
	reviewtest.Write(t, filepath.Join(b.Repo, "src/a.txt"), "an old content\n")
	reviewtest.GitIn(t, b.Repo, "commit", "-q", "-am", "second")
	reviewtest.GitIn(t, b.Repo, "revert", "-n", "HEAD")
	reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "third")
	reviewtest.GitIn(t, b.Repo, "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "partial")
	reviewtest.GitIn(t, b.Repo, slices.Concat([]string{"clone", "-q", "--filter=blob:none"}, options, []string{"file://" + b.Repo, dir})...)
	return dir
}

func copyInto(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		reviewtest.Must(t, err)
		reviewtest.Write(t, filepath.Join(to, name), string(data))
	}
}

// TestSelectionsReachABranchInEveryKindOfRepository takes one hunk, then another, then the
// rest, and checks the result that the user sees.
func TestSelectionsReachABranchInEveryKindOfRepository(t *testing.T) {
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"
	for name, make := range unusual {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := reviewtest.NewRepository(t, map[string]string{"src/a.txt": lines, "docs/b.txt": "bee\n"})
			b.Repo = make(t, b)
			before := b.State()
			b.Prepare()
			b.Write("src/a.txt", "first\n"+strings.Replace(lines, "20\n", "last\n", 1))
			b.Write("src/new.txt", "new\n")
			b.Write("docs/new.txt", "beside files that may not be checked out\n")
			cs := b.Compute()
			b.Want(cs, "A\tdocs/new.txt", "M\tsrc/a.txt", "A\tsrc/new.txt")
			hunks := b.Hunks(cs, "src/a.txt")
			if len(hunks) != 2 {
				t.Fatalf("%d hunks", len(hunks))
			}
			one, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{Hunks: []string{string(hunks[1].ID)}}})
			reviewtest.Must(t, err)
			if one.Branch != "aibox/k3f9" {
				t.Errorf("branch %s", one.Branch)
			}
			if got := reviewtest.GitIn(t, b.Repo, "show", one.Commit+":src/a.txt") + "\n"; got != strings.Replace(lines, "20\n", "last\n", 1) {
				t.Errorf("the first commit has %q", got)
			}
			if got := reviewtest.GitIn(t, b.Repo, "ls-tree", "--name-only", one.Commit, "docs/"); got != "docs/b.txt" {
				t.Errorf("docs is %q", got)
			}
			rest := accept.Options{Choice: review.Choice{All: true}, Prior: &accept.Prior{
				Selection: one.Selection, Tree: one.Tree, Branch: one.Branch, Commit: one.Commit, CommitTree: one.CommitTree,
			}}
			two, err := accept.Run(t.Context(), b.Workspace, cs, rest)
			reviewtest.Must(t, err)
			if two.Branch != one.Branch || reviewtest.GitIn(t, b.Repo, "rev-parse", two.Commit+"^") != one.Commit {
				t.Errorf("the second accept is %s on %s, not on top of the first", two.Commit, two.Branch)
			}
			if tree := reviewtest.GitIn(t, b.Repo, "rev-parse", "aibox/k3f9^{tree}"); tree != cmp.Or(two.CommitTree, cs.Tree) || !two.Selection.Complete(cs) {
				t.Errorf("the branch has %s, the agent %s", tree, cs.Tree)
			}
			if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-only", one.Commit, two.Commit); got != "docs/new.txt\nsrc/a.txt\nsrc/new.txt" {
				t.Errorf("the second commit changes %q", got)
			}
			reviewtest.GitIn(t, b.Repo, "fsck", "--strict", "--no-dangling", "--connectivity-only")
			maintenance, err := workspace.Maintain(t.Context(), b.Workspace.GitDir, false)
			reviewtest.Must(t, err)
			_, _, err = maintenance.Collect(t.Context())
			maintenance.Close()
			reviewtest.Must(t, err)
			reviewtest.GitIn(t, b.Workspace.GitDir, "gc", "--quiet")
			if after := b.State(); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if _, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{
				Choice: rest.Choice, Prior: &accept.Prior{Selection: two.Selection, Tree: two.Tree, Branch: two.Branch, Commit: two.Commit},
			}); err != review.ErrNothing { //nolint:errorlint // it is returned unwrapped
				t.Errorf("a third accept: %v", err)
			}
		})
	}
}

// TestTheFirstCommitOfARepositoryHasNoParent checks the history of a repository that had
// none: the files that were there, then the agent's work.
func TestTheFirstCommitOfARepositoryHasNoParent(t *testing.T) {
	for name, files := range map[string][]string{"with files": {"mine.txt"}, "without any": nil} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, nil)
			b.Repo = filepath.Join(t.TempDir(), "fresh")
			reviewtest.Must(t, os.Mkdir(b.Repo, 0o755))
			reviewtest.GitIn(t, b.Repo, "init", "-q", "-b", "main")
			want := []string{"Work of aibox session k3f9"}
			for _, file := range files {
				reviewtest.Write(t, filepath.Join(b.Repo, file), "mine\n")
				want = append(want, "Uncommitted work before aibox session k3f9")
			}
			b.Prepare()
			if got := reviewtest.GitIn(t, b.Workspace.Path, "log", "--format=%s", "main"); got != "Before the first commit" {
				t.Errorf("the agent's history is %q", got)
			}
			b.Write("agent.txt", "agent\n")
			cs := b.Compute()
			accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
			reviewtest.Must(t, err)
			if got := reviewtest.GitIn(t, b.Repo, "log", "--format=%s", accepted.Branch); got != strings.Join(want, "\n") {
				t.Errorf("the branch's history is %q, want %q", got, want)
			}
			if (accepted.Uncommitted != "") != (len(files) > 0) {
				t.Errorf("the uncommitted work is commit %q", accepted.Uncommitted)
			}
			saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
			reviewtest.Must(t, err)
			restored, err := accept.Restore(t.Context(), *saved, "back")
			reviewtest.Must(t, err)
			if got := reviewtest.GitIn(t, b.Repo, "log", "--format=%s", "back"); strings.Count(got, "\n") != len(files) || strings.Contains(got, "Before") {
				t.Errorf("what was brought back has the history %q", got)
			}
			if tree := reviewtest.GitIn(t, b.Repo, "rev-parse", restored.Commit+"^{tree}"); tree != cs.Tree {
				t.Errorf("brought back %s, want %s", tree, cs.Tree)
			}
			if branches := reviewtest.GitIn(t, b.Repo, "branch", "--format=%(refname:short)"); branches != "aibox/k3f9\nback" {
				t.Errorf("branches %q", branches)
			}
		})
	}
}
