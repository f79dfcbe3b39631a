package review_test

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
	"aibox/workspace"
)

func TestWorkIsPutOntoTheWorkingTreeAndNowhereElse(t *testing.T) {
	b := newRepository(t, map[string]string{
		"a.txt": ten, "gone/deep/file": "x\n", "run.sh": "#!/bin/sh\n", "moved.txt": ten + "m\n", "thing": "a file\n",
		"folder/one": "1\n", "untouched": "u\n",
	}).prepare()
	must(t, os.Symlink("a.txt", b.path("link")))
	b.write("a.txt", strings.Replace(ten, "5\n", "five\n", 1))
	b.write("new/deep/er", "new\n")
	b.write("empty", "")
	b.write("no newline", "no newline")
	b.write("binary", "\x00\xff\n")
	b.write("-n \xfe\n", "odd name\n")
	must(t, os.RemoveAll(b.path("gone")))
	must(t, os.Chmod(b.path("run.sh"), 0o755))
	must(t, os.Rename(b.path("moved.txt"), b.path("new/moved.txt")))
	must(t, os.Remove(b.path("thing")))
	b.write("thing/inside", "a folder\n")
	must(t, os.RemoveAll(b.path("folder")))
	b.write("folder", "a file\n")
	index, head := picture(t, b.inRepo(".git")), gitIn(t, b.repo, "symbolic-ref", "HEAD")
	kept := picture(t, b.inRepo("untouched"))
	paths := mustPlace(b)
	if diff := cmp.Diff(contents(t, b.ws.Path), contents(t, b.repo)); diff != "" {
		t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
	}
	if diff := cmp.Diff(index, picture(t, b.inRepo(".git"))); diff != "" {
		t.Errorf("something in .git was touched:\n%s", diff)
	}
	if diff := cmp.Diff(kept, picture(t, b.inRepo("untouched"))); diff != "" || gitIn(t, b.repo, "symbolic-ref", "HEAD") != head {
		t.Errorf("something else was touched:\n%s", diff)
	}
	if !slices.IsSorted(paths) || !slices.Contains(paths, "gone/deep/file") || slices.Contains(paths, "untouched") {
		t.Errorf("paths %q", paths)
	}
	gitIn(t, b.repo, "add", "-A")
	if tree := gitIn(t, b.repo, "write-tree"); tree != b.compute().Tree {
		t.Errorf("git makes another tree of it")
	}
	// Once more there is nothing to do.
	if paths := mustPlace(b); len(paths) != 0 {
		t.Errorf("again it places %q", paths)
	}
}

// TestAFolderTakesThePlaceOfASymlinkThatMoved has the agent give a symlink another name,
// so that below its old one a look finds a symlink in the way until it is gone.
func TestAFolderTakesThePlaceOfASymlinkThatMoved(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten})
	must(t, os.Symlink("a.txt", b.inRepo("link")))
	gitIn(t, b.repo, "add", "-A")
	gitIn(t, b.repo, "commit", "-qm", "a link")
	b.prepare()
	must(t, os.Rename(b.path("link"), b.path("other")))
	b.write("link/deep/file", "below\n")
	mustPlace(b)
	if diff := cmp.Diff(contents(t, b.ws.Path), contents(t, b.repo)); diff != "" {
		t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
	}
}

// TestEmptyFoldersMakeWayForAFile has folders without any file stand where the agent
// puts one. Git does not track them, and its checkout removes them, too.
func TestEmptyFoldersMakeWayForAFile(t *testing.T) {
	for name, user := range map[string]string{
		"empty":                     "new",
		"with folders in it":        "new/deep/er",
		"left by the agent's files": "d/deep/er",
	} {
		t.Run(name, func(t *testing.T) {
			b := newRepository(t, map[string]string{"a.txt": ten, "d/c.txt": "c\n", "moved.txt": ten + "m\n"}).prepare()
			must(t, os.MkdirAll(b.inRepo(user), 0o755))
			must(t, os.MkdirAll(b.inRepo("link/deep"), 0o755))
			must(t, os.MkdirAll(b.inRepo("there/deep"), 0o755))
			b.write("new", "agent\n")
			must(t, os.RemoveAll(b.path("d")))
			b.write("d", "agent\n")
			must(t, os.Symlink("a.txt", b.path("link")))
			must(t, os.Rename(b.path("moved.txt"), b.path("there")))
			mustPlace(b)
			if diff := cmp.Diff(contents(t, b.ws.Path), contents(t, b.repo)); diff != "" {
				t.Errorf("it is not the agent's (-agent +user):\n%s", diff)
			}
		})
	}
}

func TestEditsOfTheUserSurviveBesideThoseOfTheAgent(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten, "both.txt": ten, "moved.txt": ten, "mode": ten, "gone": "g\n", "same": "s\n"}).prepare()
	b.user("a.txt", "zero\n"+ten)
	b.write("a.txt", ten+"11\n")
	b.user("both.txt", "same\n"+ten)
	b.write("both.txt", "same\n"+ten)
	b.user("moved.txt", "zero\n"+ten)
	must(t, os.Rename(b.path("moved.txt"), b.path("there.txt")))
	must(t, os.Chmod(b.inRepo("mode"), 0o700))
	b.write("mode", ten+"11\n")
	must(t, os.Remove(b.path("gone")))
	must(t, os.Remove(b.inRepo("gone")))
	b.user("new", "new\n")
	b.write("new", "new\n")
	b.user("mine", "mine\n")
	must(t, os.Chmod(b.inRepo("a.txt"), 0o600))
	paths := mustPlace(b)
	if diff := cmp.Diff([]review.Path{"a.txt", "mode", "moved.txt", "there.txt"}, paths); diff != "" {
		t.Errorf("paths: %s", diff)
	}
	b.holds("a.txt", "zero\n"+ten+"11\n")
	b.holds("there.txt", "zero\n"+ten)
	b.holds("mode", ten+"11\n")
	b.holds("mine", "mine\n")
	for name, want := range map[string]fs.FileMode{"a.txt": 0o600, "mode": 0o700} {
		if info, err := os.Stat(b.inRepo(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatTheFilesHeldBeforeCanBeBroughtBack(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten, "gone": "g\n", "other": "o\n"}).prepare()
	b.user("a.txt", "zero\n"+ten)
	b.write("a.txt", ten+"11\n")
	must(t, os.Remove(b.path("gone")))
	mustPlace(b)
	saved, err := review.Recoverable(t.Context(), filepath.Dir(b.ws.GitDir), "")
	must(t, err)
	i := slices.IndexFunc(saved, func(s review.Saved) bool { return s.What == review.BeforeWorktree })
	if i < 0 {
		t.Fatalf("saved: %+v", saved)
	}
	restored, err := review.Restore(t.Context(), saved[i], "")
	must(t, err)
	for name, want := range map[string]string{"a.txt": "zero\n" + ten, "gone": "g\n", "other": "o\n"} {
		if got := gitIn(t, b.repo, "show", restored.Branch+":"+name) + "\n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestThereIsNoWorkingTreeOfAClone(t *testing.T) {
	from := newRepository(t, map[string]string{"a.txt": "a\n"})
	b := &bench{t: t, repo: "file://" + from.repo, home: t.TempDir()}
	b.prepare()
	b.write("a.txt", "agent\n")
	_, err := place(b)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no working tree") {
		t.Errorf("error: %v", err)
	}
}

func TestARepositoryThatIsGoneIsNamed(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "a\n"}).prepare()
	b.write("a.txt", "agent\n")
	must(t, os.Rename(b.repo, b.repo+".moved"))
	if _, err := place(b); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("error: %v", err)
	}
	must(t, os.Mkdir(b.repo, 0o755))
	if _, err := place(b); fault.KindOf(err) != fault.Usage {
		t.Errorf("error: %v", err)
	}
}

func TestWorkThatWasAcceptedBeforeIsTheGroundOfTheNext(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten}).prepare()
	b.write("a.txt", "0\n"+ten)
	first := b.compute()
	must(t, func() error {
		_, err := review.ApplyToWorktree(t.Context(), b.ws, first.BaseTree, first.Tree, nil)
		return err
	}())
	b.write("a.txt", "0\n"+ten+"11\n")
	second := b.compute()
	paths, err := review.ApplyToWorktree(t.Context(), b.ws, first.Tree, second.Tree, nil)
	must(t, err)
	b.holds("a.txt", "0\n"+ten+"11\n")
	if len(paths) != 1 {
		t.Errorf("paths %q", paths)
	}
}

func TestAPlanSaysWhatWouldBeDoneAndDoesNothing(t *testing.T) {
	b := newRepository(t, map[string]string{"a": ten, "b": ten, "gone": "g\n", "move": ten + "m\n", "same": ten}).prepare(func(r *workspace.Request) { r.Clean = true })
	b.write("a", ten+"11\n")
	b.write("b", ten+"11\n")
	b.user("b", "0\n"+ten)
	b.write("same", "x\n")
	b.user("same", "x\n")
	b.write("new", "n\n")
	must(t, os.Remove(b.path("gone")))
	must(t, os.Rename(b.path("move"), b.path("there")))
	cs := b.compute()
	before := picture(t, b.repo)
	plan, err := review.PlanWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree)
	must(t, err)
	if diff := cmp.Diff(before, picture(t, b.repo)); diff != "" {
		t.Errorf("something was touched:\n%s", diff)
	}
	want := []review.WorktreeStep{
		{Path: "a", Action: review.ReplaceFile},
		{Path: "b", Action: review.MergeFile},
		{Path: "gone", Action: review.DeleteFile},
		{Path: "new", Action: review.CreateFile},
		{Path: "same", Action: review.KeepFile},
		{Path: "there", From: "move", Action: review.ReplaceFile},
	}
	if diff := cmp.Diff(want, plan.Steps); diff != "" || len(plan.Conflicts()) > 0 || plan.Repo != b.repo {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestATreeThatNamesAGitFolderIsRefused makes trees that no agent gets past the change
// set, and no other control after that.
func TestATreeThatNamesAGitFolderIsRefused(t *testing.T) {
	for _, name := range []string{".git", ".GIT", "git~1", ".git."} {
		b := newRepository(t, map[string]string{"a.txt": "a\n"}).prepare()
		store := []string{"GIT_DIR=" + b.ws.GitDir}
		blob := gitWith(t, store, []byte("touch canary\n"), "hash-object", "-w", "--stdin")
		hooks := gitWith(t, store, []byte("100755 blob "+blob+"\tpost-checkout\n"), "mktree")
		tree := gitWith(t, store, []byte("040000 tree "+hooks+"\t"+name+"\n"), "mktree")
		before := picture(t, b.repo)
		_, err := review.ApplyToWorktree(t.Context(), b.ws, b.ws.BaseTree, tree, nil)
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), name+"/post-checkout: its name means something else") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, picture(t, b.repo)); diff != "" {
			t.Errorf("%s: something was touched:\n%s", name, diff)
		}
	}
}
