package review_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/workspace"
)

// unusual are repositories that are not just a folder with a branch checked out.
// Each makes one from a plain repository and returns the folder to work in.
var unusual = map[string]func(t *testing.T, b *bench) string{
	"a detached HEAD": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "checkout", "-q", "--detach")
		return b.repo
	},
	"a linked worktree": func(t *testing.T, b *bench) string {
		dir := filepath.Join(t.TempDir(), "linked")
		gitIn(t, b.repo, "worktree", "add", "-q", "-b", "side", dir)
		return dir
	},
	"a detached linked worktree with settings of its own": func(t *testing.T, b *bench) string {
		dir := filepath.Join(t.TempDir(), "linked")
		gitIn(t, b.repo, "worktree", "add", "-q", "--detach", dir)
		gitIn(t, b.repo, "config", "extensions.worktreeConfig", "true")
		gitIn(t, dir, "config", "--worktree", "user.name", "Wanda")
		return dir
	},
	"a main worktree with settings of its own": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "config", "extensions.worktreeConfig", "true")
		gitIn(t, b.repo, "config", "--worktree", "core.autocrlf", "false")
		return b.repo
	},
	"a separate git folder": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "away.git"))
		return b.repo
	},
	"a submodule": func(t *testing.T, b *bench) string {
		sub := newRepository(t, map[string]string{"lib.c": "int x;\n"})
		gitIn(t, b.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.repo, "vendor/lib")
		gitIn(t, b.repo, "commit", "-q", "-m", "a submodule")
		return b.repo
	},
	"inside a submodule": func(t *testing.T, b *bench) string {
		outer := newRepository(t, map[string]string{"top.txt": "top\n"})
		gitIn(t, outer.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", b.repo, "lib")
		gitIn(t, outer.repo, "commit", "-q", "-m", "a submodule")
		return filepath.Join(outer.repo, "lib")
	},
	"a sparse checkout": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "sparse-checkout", "set", "--cone", "src")
		if _, err := os.Stat(filepath.Join(b.repo, "docs")); err == nil {
			t.Fatal("docs is checked out")
		}
		return b.repo
	},
	"a sparse checkout with a sparse index": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "sparse-checkout", "set", "--cone", "--sparse-index", "src")
		return b.repo
	},
	"a shallow clone": func(t *testing.T, b *bench) string {
		gitIn(t, b.repo, "commit", "-q", "--allow-empty", "-m", "second")
		dir := filepath.Join(t.TempDir(), "shallow")
		gitIn(t, b.repo, "clone", "-q", "--depth=1", "file://"+b.repo, dir)
		return dir
	},
	"a repository with SHA-256 ids": func(t *testing.T, b *bench) string {
		dir := filepath.Join(t.TempDir(), "long")
		must(t, os.Mkdir(dir, 0o755))
		gitIn(t, dir, "init", "-q", "-b", "main", "--object-format=sha256")
		copyInto(t, b.repo, dir, "src/a.txt", "docs/b.txt")
		gitIn(t, dir, "add", "-A")
		gitIn(t, dir, "commit", "-q", "-m", "start")
		return dir
	},
	"a partial clone": func(t *testing.T, b *bench) string { return partial(t, b) },
	"a partial clone, checked out sparsely": func(t *testing.T, b *bench) string {
		dir := partial(t, b, "--sparse")
		gitIn(t, dir, "-c", "protocol.file.allow=always", "sparse-checkout", "set", "src")
		return dir
	},
	"no commit at all": func(t *testing.T, b *bench) string {
		dir := filepath.Join(t.TempDir(), "fresh")
		must(t, os.Mkdir(dir, 0o755))
		gitIn(t, dir, "init", "-q", "-b", "main")
		copyInto(t, b.repo, dir, "src/a.txt", "docs/b.txt")
		return dir
	},
	"no commit and an index": func(t *testing.T, b *bench) string {
		dir := filepath.Join(t.TempDir(), "fresh")
		must(t, os.Mkdir(dir, 0o755))
		gitIn(t, dir, "init", "-q", "-b", "main")
		copyInto(t, b.repo, dir, "src/a.txt", "docs/b.txt")
		gitIn(t, dir, "add", "src")
		return dir
	},
}

// partial clones the repository without the contents of its older commits.
func partial(t *testing.T, b *bench, options ...string) string {
	t.Helper()
	write(t, filepath.Join(b.repo, "src/a.txt"), "an old content\n")
	gitIn(t, b.repo, "commit", "-q", "-am", "second")
	gitIn(t, b.repo, "revert", "-n", "HEAD")
	gitIn(t, b.repo, "commit", "-q", "-m", "third")
	gitIn(t, b.repo, "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "partial")
	gitIn(t, b.repo, slices.Concat([]string{"clone", "-q", "--filter=blob:none"}, options, []string{"file://" + b.repo, dir})...)
	return dir
}

func copyInto(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		write(t, filepath.Join(to, name), string(data))
	}
}

// TestPartsOfTheWorkComeToABranchOfAnyRepository takes one hunk, then another, then
// the rest, and looks at what a person would see.
func TestPartsOfTheWorkComeToABranchOfAnyRepository(t *testing.T) {
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"
	for name, make := range unusual {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRepository(t, map[string]string{"src/a.txt": lines, "docs/b.txt": "bee\n"})
			b.repo = make(t, b)
			before := b.state()
			b.prepare()
			b.write("src/a.txt", "first\n"+strings.Replace(lines, "20\n", "last\n", 1))
			b.write("src/new.txt", "new\n")
			cs := b.compute()
			b.want(cs, "M\tsrc/a.txt", "A\tsrc/new.txt")
			hunks := b.hunks(cs, "src/a.txt")
			if len(hunks) != 2 {
				t.Fatalf("%d hunks", len(hunks))
			}
			one, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{Hunks: []string{string(hunks[1].ID)}}})
			must(t, err)
			if one.Branch != "aibox/k3f9" {
				t.Errorf("branch %s", one.Branch)
			}
			if got := gitIn(t, b.repo, "show", one.Commit+":src/a.txt") + "\n"; got != strings.Replace(lines, "20\n", "last\n", 1) {
				t.Errorf("the first commit has %q", got)
			}
			if got := gitIn(t, b.repo, "ls-tree", "--name-only", one.Commit, "docs/"); got != "docs/b.txt" {
				t.Errorf("docs is %q", got)
			}
			rest := review.AcceptOptions{Choice: review.Choice{All: true}, Before: &review.Before{
				Selection: one.Selection, Tree: one.Tree, Branch: one.Branch, Commit: one.Commit, CommitTree: one.CommitTree,
			}}
			two, err := review.Accept(t.Context(), b.ws, cs, rest)
			must(t, err)
			if two.Branch != one.Branch || gitIn(t, b.repo, "rev-parse", two.Commit+"^") != one.Commit {
				t.Errorf("the second accept is %s on %s, not on top of the first", two.Commit, two.Branch)
			}
			if tree := gitIn(t, b.repo, "rev-parse", "aibox/k3f9^{tree}"); tree != cmp.Or(two.CommitTree, cs.Tree) || !two.Selection.Complete(cs) {
				t.Errorf("the branch has %s, the agent %s", tree, cs.Tree)
			}
			if got := gitIn(t, b.repo, "diff", "--name-only", one.Commit, two.Commit); got != "src/a.txt\nsrc/new.txt" {
				t.Errorf("the second commit changes %q", got)
			}
			gitIn(t, b.repo, "fsck", "--strict", "--no-dangling", "--connectivity-only")
			tidy, err := workspace.Tidy(t.Context(), b.ws.GitDir, false)
			must(t, err)
			_, _, err = tidy.Collect(t.Context())
			tidy.Close()
			must(t, err)
			gitIn(t, b.ws.GitDir, "gc", "--quiet")
			if after := b.state(); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if _, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{
				Choice: rest.Choice, Before: &review.Before{Selection: two.Selection, Tree: two.Tree, Branch: two.Branch, Commit: two.Commit},
			}); err != review.ErrNothing { //nolint:errorlint // it is returned as it is
				t.Errorf("a third accept: %v", err)
			}
		})
	}
}

// TestTheFirstCommitOfARepositoryHasNoParent looks at the history that a repository
// without any gets: the files that were there, then the agent's work.
func TestTheFirstCommitOfARepositoryHasNoParent(t *testing.T) {
	for name, files := range map[string][]string{"with files": {"mine.txt"}, "without any": nil} {
		t.Run(name, func(t *testing.T) {
			b := newRepository(t, nil)
			b.repo = filepath.Join(t.TempDir(), "fresh")
			must(t, os.Mkdir(b.repo, 0o755))
			gitIn(t, b.repo, "init", "-q", "-b", "main")
			want := []string{"Work of aibox session k3f9"}
			for _, file := range files {
				write(t, filepath.Join(b.repo, file), "mine\n")
				want = append(want, "Uncommitted work before aibox session k3f9")
			}
			b.prepare()
			if got := gitIn(t, b.ws.Path, "log", "--format=%s", "main"); got != "Before the first commit" {
				t.Errorf("the agent's history is %q", got)
			}
			b.write("agent.txt", "agent\n")
			cs := b.compute()
			accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
			must(t, err)
			if got := gitIn(t, b.repo, "log", "--format=%s", accepted.Branch); got != strings.Join(want, "\n") {
				t.Errorf("the branch's history is %q, want %q", got, want)
			}
			if (accepted.Uncommitted != "") != (len(files) > 0) {
				t.Errorf("the uncommitted work is commit %q", accepted.Uncommitted)
			}
			saved, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
			must(t, err)
			restored, err := review.Restore(t.Context(), *saved, "back")
			must(t, err)
			if got := gitIn(t, b.repo, "log", "--format=%s", "back"); strings.Count(got, "\n") != len(files) || strings.Contains(got, "Before") {
				t.Errorf("what was brought back has the history %q", got)
			}
			if tree := gitIn(t, b.repo, "rev-parse", restored.Commit+"^{tree}"); tree != cs.Tree {
				t.Errorf("brought back %s, want %s", tree, cs.Tree)
			}
			if branches := gitIn(t, b.repo, "branch", "--format=%(refname:short)"); branches != "aibox/k3f9\nback" {
				t.Errorf("branches %q", branches)
			}
		})
	}
}
