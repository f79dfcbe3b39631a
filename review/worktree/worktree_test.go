package worktree_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
	"aibox/workspace"
)

func TestDeliveryChangesOnlyTheWorkingTree(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{
		"a.txt": reviewtest.Ten, "gone/deep/file": "x\n", "run.sh": "#!/bin/sh\n", "moved.txt": reviewtest.Ten + "m\n", "thing": "a file\n",
		"folder/one": "1\n", "untouched": "u\n",
	}).Prepare()
	reviewtest.Must(t, os.Symlink("a.txt", b.Path("link")))
	b.Write("a.txt", strings.Replace(reviewtest.Ten, "5\n", "five\n", 1))
	b.Write("new/deep/er", "new\n")
	b.Write("empty", "")
	b.Write("no newline", "no newline")
	b.Write("binary", "\x00\xff\n")
	b.Write("-n \xfe\n", "odd name\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("gone")))
	reviewtest.Must(t, os.Chmod(b.Path("run.sh"), 0o755))
	reviewtest.Must(t, os.Rename(b.Path("moved.txt"), b.Path("new/moved.txt")))
	reviewtest.Must(t, os.Remove(b.Path("thing")))
	b.Write("thing/inside", "a folder\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("folder")))
	b.Write("folder", "a file\n")
	index, head := reviewtest.Picture(t, b.InRepo(".git")), reviewtest.GitIn(t, b.Repo, "symbolic-ref", "HEAD")
	kept := reviewtest.Picture(t, b.InRepo("untouched"))
	paths := mustPlace(b)
	if diff := cmp.Diff(reviewtest.Contents(t, b.Workspace.Path), reviewtest.Contents(t, b.Repo)); diff != "" {
		t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
	}
	if diff := cmp.Diff(index, reviewtest.Picture(t, b.InRepo(".git"))); diff != "" {
		t.Errorf("something in .git was touched:\n%s", diff)
	}
	if diff := cmp.Diff(kept, reviewtest.Picture(t, b.InRepo("untouched"))); diff != "" || reviewtest.GitIn(t, b.Repo, "symbolic-ref", "HEAD") != head {
		t.Errorf("something else was touched:\n%s", diff)
	}
	if !slices.IsSorted(paths) || !slices.Contains(paths, "gone/deep/file") || slices.Contains(paths, "untouched") {
		t.Errorf("paths %q", paths)
	}
	reviewtest.GitIn(t, b.Repo, "add", "-A")
	if tree := reviewtest.GitIn(t, b.Repo, "write-tree"); tree != b.Compute().Tree {
		t.Errorf("git makes another tree of it")
	}
	// The second time there is nothing to do.
	if paths := mustPlace(b); len(paths) != 0 {
		t.Errorf("again it places %q", paths)
	}
}

// TestAFolderReplacesAMovedSymlink has the agent rename a symlink, so that lookups below
// the old name find the symlink until it is moved.
func TestAFolderReplacesAMovedSymlink(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten})
	reviewtest.Must(t, os.Symlink("a.txt", b.InRepo("link")))
	reviewtest.GitIn(t, b.Repo, "add", "-A")
	reviewtest.GitIn(t, b.Repo, "commit", "-qm", "a link")
	b.Prepare()
	reviewtest.Must(t, os.Rename(b.Path("link"), b.Path("other")))
	b.Write("link/deep/file", "below\n")
	mustPlace(b)
	if diff := cmp.Diff(reviewtest.Contents(t, b.Workspace.Path), reviewtest.Contents(t, b.Repo)); diff != "" {
		t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
	}
}

// TestAFileReplacesEmptyFolders has folders without any file where the agent puts a file.
// Git does not track them, and its checkout removes them, too.
func TestAFileReplacesEmptyFolders(t *testing.T) {
	for name, user := range map[string]string{
		"empty":                     "new",
		"with folders in it":        "new/deep/er",
		"left by the agent's files": "d/deep/er",
	} {
		t.Run(name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten, "d/c.txt": "c\n", "moved.txt": reviewtest.Ten + "m\n"}).Prepare()
			reviewtest.Must(t, os.MkdirAll(b.InRepo(user), 0o755))
			reviewtest.Must(t, os.MkdirAll(b.InRepo("link/deep"), 0o755))
			reviewtest.Must(t, os.MkdirAll(b.InRepo("there/deep"), 0o755))
			b.Write("new", "agent\n")
			reviewtest.Must(t, os.RemoveAll(b.Path("d")))
			b.Write("d", "agent\n")
			reviewtest.Must(t, os.Symlink("a.txt", b.Path("link")))
			reviewtest.Must(t, os.Rename(b.Path("moved.txt"), b.Path("there")))
			mustPlace(b)
			if diff := cmp.Diff(reviewtest.Contents(t, b.Workspace.Path), reviewtest.Contents(t, b.Repo)); diff != "" {
				t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
			}
		})
	}
}

func TestUserEditsAreMergedWithAgentEdits(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten, "both.txt": reviewtest.Ten, "moved.txt": reviewtest.Ten, "mode": reviewtest.Ten, "gone": "g\n", "same": "s\n"}).Prepare()
	b.User("a.txt", "zero\n"+reviewtest.Ten)
	b.Write("a.txt", reviewtest.Ten+"11\n")
	b.User("both.txt", "same\n"+reviewtest.Ten)
	b.Write("both.txt", "same\n"+reviewtest.Ten)
	b.User("moved.txt", "zero\n"+reviewtest.Ten)
	reviewtest.Must(t, os.Rename(b.Path("moved.txt"), b.Path("there.txt")))
	reviewtest.Must(t, os.Chmod(b.InRepo("mode"), 0o700))
	b.Write("mode", reviewtest.Ten+"11\n")
	reviewtest.Must(t, os.Remove(b.Path("gone")))
	reviewtest.Must(t, os.Remove(b.InRepo("gone")))
	b.User("new", "new\n")
	b.Write("new", "new\n")
	b.User("mine", "mine\n")
	reviewtest.Must(t, os.Chmod(b.InRepo("a.txt"), 0o600))
	paths := mustPlace(b)
	if diff := cmp.Diff([]review.Path{"a.txt", "mode", "moved.txt", "there.txt"}, paths); diff != "" {
		t.Errorf("paths: %s", diff)
	}
	b.Holds("a.txt", "zero\n"+reviewtest.Ten+"11\n")
	b.Holds("there.txt", "zero\n"+reviewtest.Ten)
	b.Holds("mode", reviewtest.Ten+"11\n")
	b.Holds("mine", "mine\n")
	for name, want := range map[string]fs.FileMode{"a.txt": 0o600, "mode": 0o700} {
		if info, err := os.Stat(b.InRepo(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestOverwrittenContentCanBeRestored(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten, "gone": "g\n", "other": "o\n"}).Prepare()
	b.User("a.txt", "zero\n"+reviewtest.Ten)
	b.Write("a.txt", reviewtest.Ten+"11\n")
	reviewtest.Must(t, os.Remove(b.Path("gone")))
	mustPlace(b)
	saved, err := recovery.Points(t.Context(), filepath.Dir(b.Workspace.GitDir), "")
	reviewtest.Must(t, err)
	i := slices.IndexFunc(saved, func(s recovery.Point) bool { return s.What == worktree.BeforeWorktree })
	if i < 0 {
		t.Fatalf("saved: %+v", saved)
	}
	restored, err := accept.Restore(t.Context(), saved[i], "")
	reviewtest.Must(t, err)
	for name, want := range map[string]string{"a.txt": "zero\n" + reviewtest.Ten, "gone": "g\n", "other": "o\n"} {
		if got := reviewtest.GitIn(t, b.Repo, "show", restored.Branch+":"+name) + "\n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAClonedRepositoryHasNoWorkingTree(t *testing.T) {
	from := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"})
	b := &reviewtest.Fixture{T: t, Repo: "file://" + from.Repo, Home: t.TempDir()}
	b.Prepare()
	b.Write("a.txt", "agent\n")
	_, err := place(b)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no working tree") {
		t.Errorf("error: %v", err)
	}
}

func TestAMissingRepositoryIsNamed(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"}).Prepare()
	b.Write("a.txt", "agent\n")
	reviewtest.Must(t, os.Rename(b.Repo, b.Repo+".moved"))
	if _, err := place(b); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("error: %v", err)
	}
	reviewtest.Must(t, os.Mkdir(b.Repo, 0o755))
	if _, err := place(b); fault.KindOf(err) != fault.Usage {
		t.Errorf("error: %v", err)
	}
}

func TestTheNextDeliveryBuildsOnAcceptedWork(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten}).Prepare()
	b.Write("a.txt", "0\n"+reviewtest.Ten)
	first := b.Compute()
	reviewtest.Must(t, func() error {
		_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, first.BaseTree, first.Tree, nil)
		return err
	}())
	b.Write("a.txt", "0\n"+reviewtest.Ten+"11\n")
	second := b.Compute()
	paths, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, first.Tree, second.Tree, nil)
	reviewtest.Must(t, err)
	b.Holds("a.txt", "0\n"+reviewtest.Ten+"11\n")
	if len(paths) != 1 {
		t.Errorf("paths %q", paths)
	}
}

func TestAPlanChangesNothing(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a": reviewtest.Ten, "b": reviewtest.Ten, "gone": "g\n", "move": reviewtest.Ten + "m\n", "same": reviewtest.Ten}).Prepare(func(r *workspace.Request) { r.Clean = true })
	b.Write("a", reviewtest.Ten+"11\n")
	b.Write("b", reviewtest.Ten+"11\n")
	b.User("b", "0\n"+reviewtest.Ten)
	b.Write("same", "x\n")
	b.User("same", "x\n")
	b.Write("new", "n\n")
	reviewtest.Must(t, os.Remove(b.Path("gone")))
	reviewtest.Must(t, os.Rename(b.Path("move"), b.Path("there")))
	cs := b.Compute()
	before := reviewtest.Picture(t, b.Repo)
	plan, err := worktree.NewPlan(t.Context(), b.Workspace, cs.BaseTree, cs.Tree)
	reviewtest.Must(t, err)
	if diff := cmp.Diff(before, reviewtest.Picture(t, b.Repo)); diff != "" {
		t.Errorf("something was touched:\n%s", diff)
	}
	want := []worktree.Step{
		{Path: "a", Action: worktree.ActionReplace},
		{Path: "b", Action: worktree.ActionMerge},
		{Path: "gone", Action: worktree.ActionDelete},
		{Path: "new", Action: worktree.ActionCreate},
		{Path: "same", Action: worktree.ActionKeep},
		{Path: "there", From: "move", Action: worktree.ActionReplace},
	}
	if diff := cmp.Diff(want, plan.Steps); diff != "" || len(plan.Conflicts()) > 0 || plan.Repo != b.Repo {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestATreeWithAGitFolderIsRefused makes trees that the change set never contains, and that
// no later control checks.
func TestATreeWithAGitFolderIsRefused(t *testing.T) {
	for _, name := range []string{".git", ".GIT", "git~1", ".git."} {
		b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"}).Prepare()
		store := []string{"GIT_DIR=" + b.Workspace.GitDir}
		blob := reviewtest.GitWith(t, store, []byte("touch canary\n"), "hash-object", "-w", "--stdin")
		hooks := reviewtest.GitWith(t, store, []byte("100755 blob "+blob+"\tpost-checkout\n"), "mktree")
		tree := reviewtest.GitWith(t, store, []byte("040000 tree "+hooks+"\t"+name+"\n"), "mktree")
		before := reviewtest.Picture(t, b.Repo)
		_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, b.Workspace.BaseTree, tree, nil)
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), name+"/post-checkout: its name means something else") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, reviewtest.Picture(t, b.Repo)); diff != "" {
			t.Errorf("%s: something was touched:\n%s", name, diff)
		}
	}
}
