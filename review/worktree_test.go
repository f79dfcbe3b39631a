package review_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

// picture is everything below a folder, .git included: kind, permissions, inode, times
// and content of each name. Two equal pictures say that nothing was touched.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		switch {
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		case entry.Type()&fs.ModeSymlink != 0:
			content, _ = os.Readlink(path)
		}
		all[path] = fmt.Sprintf("%o %d %d %d %q", st.Mode, st.Ino, st.Mtim.Nano(), st.Ctim.Nano(), content)
		return nil
	}))
	return all
}

// contents is what a person sees of a working tree: names, kinds, executable bits and
// bytes, without .git.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if name == ".git" || strings.HasPrefix(name, ".git/") {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] = fmt.Sprintf("%v %s", info.Mode().Perm()&0o100 != 0, data)
		case entry.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			all[name] = "-> " + target
		case entry.IsDir():
			all[name] = "folder"
		}
		return nil
	}))
	return all
}

// place puts the whole change set onto the user's working tree.
func (b *bench) place() ([]review.Path, error) {
	b.t.Helper()
	cs := b.compute()
	return review.ApplyToWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree, nil)
}

func (b *bench) mustPlace() []review.Path {
	b.t.Helper()
	paths, err := b.place()
	must(b.t, err)
	b.tidy()
	return paths
}

// tidy checks that a delivery leaves nothing behind.
func (b *bench) tidy() {
	b.t.Helper()
	left, _ := filepath.Glob(filepath.Join(b.repo, ".aibox-*"))
	more, _ := filepath.Glob(filepath.Join(b.ws.GitDir, "aibox", "*worktree.[jm]*"))
	if left = append(left, more...); len(left) > 0 {
		b.t.Errorf("%q is left", left)
	}
}

// user writes a file in the user's working tree.
func (b *bench) user(name, content string) {
	b.t.Helper()
	write(b.t, filepath.Join(b.repo, name), content)
}

func (b *bench) inRepo(name string) string { return filepath.Join(b.repo, name) }

// holds checks the bytes of a file of the user's.
func (b *bench) holds(name, want string) {
	b.t.Helper()
	data, err := os.ReadFile(b.inRepo(name))
	if err != nil || string(data) != want {
		b.t.Errorf("%s holds %q (%v), want %q", name, data, err, want)
	}
}

// clashes checks that nothing is placed because of these paths, each with a part of
// its reason, and that nothing at all was touched.
func (b *bench) clashes(want ...string) {
	b.t.Helper()
	cs := b.compute()
	before := picture(b.t, b.repo)
	paths, err := review.ApplyToWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree, nil)
	if err == nil {
		b.t.Fatalf("it places %q", paths)
	}
	if diff := cmp.Diff(before, picture(b.t, b.repo)); diff != "" {
		b.t.Errorf("something was touched:\n%s", diff)
	}
	b.tidy()
	if kind := fault.KindOf(err); kind != fault.Conflict {
		b.t.Fatalf("%v: %v", kind, err)
	}
	conflict, ok := errors.AsType[*review.WorktreeConflict](err)
	if !ok {
		b.t.Fatalf("%v lists nothing", err)
	}
	var got []string
	for _, step := range conflict.Clashes {
		got = append(got, step.Path.String()+": "+step.Reason)
	}
	if len(got) != len(want) {
		b.t.Fatalf("conflicts %q, want %q", got, want)
	}
	for i := range want {
		path, why, _ := strings.Cut(want[i], ": ")
		if !strings.HasPrefix(got[i], path+": ") || !strings.Contains(got[i], why) || !strings.Contains(err.Error(), got[i]) {
			b.t.Errorf("conflict %q, want %q", got[i], want[i])
		}
	}
	plan, err := review.PlanWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree)
	must(b.t, err)
	if diff := cmp.Diff(conflict.Clashes, plan.Conflicts()); diff != "" {
		b.t.Errorf("the plan has other conflicts:\n%s", diff)
	}
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

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
	paths := b.mustPlace()
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
	if paths := b.mustPlace(); len(paths) != 0 {
		t.Errorf("again it places %q", paths)
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
	paths := b.mustPlace()
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
	b.mustPlace()
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

// TestWhatStandsInTheWayIsListedAndNothingIsTouched has one case for each way in which
// the user's side may clash with the agent's.
func TestWhatStandsInTheWayIsListedAndNothingIsTouched(t *testing.T) {
	files := map[string]string{"a.txt": ten, "b.txt": "b\n", "d/c.txt": "c\n", "bin": "\x00one\n"}
	for _, c := range []struct {
		name  string
		agent func(b *bench)
		user  func(b *bench)
		want  []string
	}{
		{
			"the same lines", func(b *bench) { b.write("a.txt", "agent\n"+ten); b.write("b.txt", "fine\n") },
			func(b *bench) { b.user("a.txt", "user\n"+ten) },
			[]string{"a.txt: same lines"},
		},
		{
			"several", func(b *bench) { b.write("a.txt", "agent\n"+ten); b.write("b.txt", "agent\n"); b.write("n", "n\n") },
			func(b *bench) { b.user("a.txt", "user\n"+ten); b.user("b.txt", "user\n") },
			[]string{"a.txt: same lines", "b.txt: same lines"},
		},
		{"binary", func(b *bench) { b.write("bin", "\x00agent") }, func(b *bench) { b.user("bin", "\x00user") }, []string{"bin: binary"}},
		{
			"changed and deleted", func(b *bench) { must(b.t, os.Remove(b.path("a.txt"))) },
			func(b *bench) { b.user("a.txt", "user\n") },
			[]string{"a.txt: agent deleted"},
		},
		{
			"mode and deleted", func(b *bench) { must(b.t, os.Remove(b.path("a.txt"))) },
			func(b *bench) { must(b.t, os.Chmod(b.inRepo("a.txt"), 0o755)) },
			[]string{"a.txt: agent deleted"},
		},
		{
			"deleted and changed", func(b *bench) { b.write("a.txt", "agent\n") },
			func(b *bench) { must(b.t, os.Remove(b.inRepo("a.txt"))) },
			[]string{"a.txt: you deleted"},
		},
		{
			"deleted and renamed", func(b *bench) { must(b.t, os.Rename(b.path("a.txt"), b.path("z.txt"))) },
			func(b *bench) { must(b.t, os.Remove(b.inRepo("a.txt"))) },
			[]string{"z.txt: you deleted a.txt"},
		},
		{"both added", func(b *bench) { b.write("new", "agent\n") }, func(b *bench) { b.user("new", "user\n") }, []string{"new: stands there already"}},
		{
			"both added, another mode", func(b *bench) { b.write("new", "x\n") },
			func(b *bench) { b.user("new", "x\n"); must(b.t, os.Chmod(b.inRepo("new"), 0o755)) },
			[]string{"new: stands there already"},
		},
		{
			"renamed to where a file stands", func(b *bench) { must(b.t, os.Rename(b.path("a.txt"), b.path("new"))) },
			func(b *bench) { b.user("new", "user\n") },
			[]string{"new: stands there already"},
		},
		{
			"a symlink made of it", func(b *bench) { b.write("a.txt", "agent\n") },
			func(b *bench) {
				must(b.t, os.Remove(b.inRepo("a.txt")))
				must(b.t, os.Symlink("b.txt", b.inRepo("a.txt")))
			},
			[]string{"a.txt: symlink"},
		},
		{"becomes a symlink", func(b *bench) {
			must(b.t, os.Remove(b.path("a.txt")))
			must(b.t, os.Symlink("b.txt", b.path("a.txt")))
		}, func(b *bench) { b.user("a.txt", ten+"user\n") }, []string{"a.txt: symlink"}},
		{
			"a folder made of it", func(b *bench) { b.write("a.txt", "agent\n") },
			func(b *bench) { must(b.t, os.Remove(b.inRepo("a.txt"))); b.user("a.txt/x", "user\n") },
			[]string{"a.txt: something else"},
		},
		{
			"a folder where a file is to be", func(b *bench) { b.write("new", "agent\n") },
			func(b *bench) { b.user("new/x", "user\n") },
			[]string{"new: a folder of yours stands there, with new/x"},
		},
		{
			"a folder that is not empty after all", func(b *bench) { must(b.t, os.RemoveAll(b.path("d"))); b.write("d", "a file\n") },
			func(b *bench) { b.user("d/mine", "user\n") },
			[]string{"d: with d/mine in it"},
		},
		{
			"a file where a folder is to be", func(b *bench) { b.write("new/x", "agent\n") },
			func(b *bench) { b.user("new", "user\n") },
			[]string{"new/x: a file of yours stands where its folder"},
		},
		{
			"a symlink where a folder is to be", func(b *bench) { b.write("new/x", "agent\n") },
			func(b *bench) { must(b.t, os.Symlink(b.t.TempDir(), b.inRepo("new"))) },
			[]string{"new/x: a symlink of yours is on the way"},
		},
		{
			"a symlink where a folder was", func(b *bench) { b.write("d/c.txt", "agent\n") },
			func(b *bench) {
				must(b.t, os.Rename(b.inRepo("d"), b.inRepo("e")))
				must(b.t, os.Symlink("e", b.inRepo("d")))
			},
			[]string{"d/c.txt: a symlink of yours is on the way"},
		},
		{
			"a pipe", func(b *bench) { b.write("a.txt", "agent\n") },
			func(b *bench) {
				must(b.t, os.Remove(b.inRepo("a.txt")))
				must(b.t, unix.Mkfifo(b.inRepo("a.txt"), 0o644))
			},
			[]string{"a.txt: something else"},
		},
		{"unmerged", func(b *bench) { b.write("b.txt", "agent\n") }, func(b *bench) {
			gitIn(b.t, b.repo, "checkout", "-q", "-b", "side")
			b.user("b.txt", "side\n")
			gitIn(b.t, b.repo, "commit", "-qam", "side")
			gitIn(b.t, b.repo, "checkout", "-q", "main")
			b.user("b.txt", "main\n")
			gitIn(b.t, b.repo, "commit", "-qam", "main")
			_ = gitFails(b.repo, "merge", "side")
		}, []string{"b.txt: a merge that you have not finished"}},
		{"in a submodule", func(b *bench) { b.write("d/c.txt", "agent\n") }, func(b *bench) {
			other := newRepository(b.t, map[string]string{"c.txt": "c\n"})
			must(b.t, os.RemoveAll(b.inRepo("d")))
			gitIn(b.t, b.repo, "rm", "-rq", "--cached", "d")
			gitIn(b.t, b.repo, "-c", "protocol.file.allow=always", "submodule", "-q", "add", other.repo, "d")
		}, []string{"d/c.txt: in a submodule"}},
		{
			"in a repository of its own", func(b *bench) { b.write("d/new", "agent\n") },
			func(b *bench) { gitIn(b.t, b.inRepo("d"), "init", "-q") },
			[]string{"d/new: d is a repository of its own"},
		},
		{
			"not checked out", func(b *bench) { b.write("d/c.txt", "agent\n"); b.write("a.txt", "agent\n") },
			func(b *bench) { gitIn(b.t, b.repo, "sparse-checkout", "set", "--no-cone", "/*", "!/d/") },
			[]string{"d/c.txt: not checked out"},
		},
		{
			"marked skip-worktree", func(b *bench) { b.write("a.txt", "agent\n") },
			func(b *bench) { gitIn(b.t, b.repo, "update-index", "--skip-worktree", "a.txt") },
			[]string{"a.txt: not checked out"},
		},
		{
			"a filter of the user's", func(b *bench) { b.write("a.txt", "agent\n"); b.write("new.txt", "agent\n") },
			func(b *bench) {
				b.user(".gitattributes", "*.txt filter=lfs\n")
				gitIn(b.t, b.repo, "config", "filter.lfs.smudge", "touch "+b.inRepo("canary"))
				gitIn(b.t, b.repo, "config", "filter.lfs.clean", "touch "+b.inRepo("canary"))
			},
			[]string{"a.txt: filter lfs", "new.txt: filter lfs"},
		},
		{
			"another encoding", func(b *bench) { b.write("new", "agent\n") },
			func(b *bench) { b.user(".gitattributes", "new working-tree-encoding=UTF-16LE\n") },
			[]string{"new: UTF-16LE"},
		},
		{
			"ident", func(b *bench) { b.write("new", "agent\n") },
			func(b *bench) { b.user(".gitattributes", "new ident\n") },
			[]string{"new: ident"},
		},
		{
			"a merge driver of the user's", func(b *bench) { b.write("a.txt", "agent\n"+ten) },
			func(b *bench) { b.user(".gitattributes", "*.txt merge=ours\n"); b.user("a.txt", ten+"user\n") },
			[]string{"a.txt: merged as text"},
		},
		{
			"in case only", func(b *bench) { b.write("A.TXT", "agent\n"); b.write("D/new", "agent\n") },
			func(b *bench) { gitIn(b.t, b.repo, "config", "core.ignorecase", "true") },
			[]string{"A.TXT: differs from your a.txt in case only", "D/new: differs from your d in case only"},
		},
		{
			"renamed in case only", func(b *bench) { must(b.t, os.Rename(b.path("a.txt"), b.path("A.txt"))) },
			func(b *bench) { gitIn(b.t, b.repo, "config", "core.ignorecase", "true") },
			[]string{"A.txt: in case only"},
		},
		{
			"no modes", func(b *bench) { must(b.t, os.Chmod(b.path("a.txt"), 0o755)) },
			func(b *bench) { gitIn(b.t, b.repo, "config", "core.fileMode", "false") },
			[]string{"a.txt: core.fileMode"},
		},
		{
			"no symlinks", func(b *bench) { must(b.t, os.Symlink("x", b.path("l"))) },
			func(b *bench) { gitIn(b.t, b.repo, "config", "core.symlinks", "false") },
			[]string{"l: core.symlinks"},
		},
		{
			"one file under two names", func(b *bench) { must(b.t, os.Rename(b.path("a.txt"), b.path("A.txt"))) },
			func(b *bench) { must(b.t, os.Link(b.inRepo("a.txt"), b.inRepo("A.txt"))) },
			[]string{"A.txt: one file with your a.txt"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newRepository(t, files).prepare()
			c.agent(b)
			c.user(b)
			b.clashes(c.want...)
			if _, err := os.Lstat(b.inRepo("canary")); err == nil {
				t.Error("a filter ran")
			}
		})
	}
}

// gitFails runs a git command that is expected to fail.
func gitFails(dir string, args ...string) error {
	return exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...).Run()
}

// TestTheStateOfTheRepositoryDoesNotMatterToTheFiles has one case for each state a
// repository may be in while work is put onto its working tree.
func TestTheStateOfTheRepositoryDoesNotMatterToTheFiles(t *testing.T) {
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
		{"a merge that is not finished elsewhere", nil, func(b *bench) {
			gitIn(b.t, b.repo, "checkout", "-q", "-b", "side")
			b.user("b.txt", "side\n")
			gitIn(b.t, b.repo, "commit", "-qam", "side")
			gitIn(b.t, b.repo, "checkout", "-q", "main")
			b.user("b.txt", "main\n")
			gitIn(b.t, b.repo, "commit", "-qam", "main")
			_ = gitFails(b.repo, "merge", "side")
		}},
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
			b.mustPlace()
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

// TestAttributesThatTheAgentChangedDecideNothing delivers a .gitattributes together
// with files that it speaks of.
func TestAttributesThatTheAgentChangedDecideNothing(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten}).prepare()
	gitIn(t, b.repo, "config", "filter.evil.smudge", "touch "+b.inRepo("canary"))
	gitIn(t, b.repo, "config", "filter.evil.clean", "touch "+b.inRepo("canary"))
	gitIn(t, b.repo, "config", "merge.evil.driver", "touch "+b.inRepo("canary"))
	b.write(".gitattributes", "* filter=evil merge=evil eol=crlf\n")
	b.write("a.txt", ten+"11\n")
	b.write("new.txt", "new\n")
	b.user("a.txt", "0\n"+ten)
	b.mustPlace()
	b.holds("a.txt", "0\n"+ten+"11\n")
	b.holds("new.txt", "new\n")
	if _, err := os.Lstat(b.inRepo("canary")); err == nil {
		t.Error("a filter ran")
	}
}

func TestAUnionOfLinesIsMadeWhereTheUserAsksForIt(t *testing.T) {
	b := newRepository(t, map[string]string{"log.txt": "one\n", ".gitattributes": "log.txt merge=union\n"}).prepare()
	b.user("log.txt", "one\nuser\n")
	b.write("log.txt", "one\nagent\n")
	b.mustPlace()
	b.holds("log.txt", "one\nuser\nagent\n")
}

func TestLineEndingsStayAsTheUsersFileHasThem(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	eleven := ten + "11\n"
	for _, c := range []struct {
		name                     string
		config                   []string
		attributes               string
		committed, yours, theirs string // theirs is what the agent makes of committed
		want                     string
	}{
		{"autocrlf, CRLF on the disk", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf(ten), crlf(eleven), crlf(eleven)},
		{"autocrlf, the agent writes LF", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf(ten), eleven, crlf(eleven)},
		{"autocrlf, LF on the disk", []string{"core.autocrlf", "true"}, "", ten, ten, eleven, eleven},
		{"autocrlf, the user edited, too", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"autocrlf, mixed on the disk", []string{"core.autocrlf", "true"}, "", crlf(ten), "1\n" + crlf(ten[2:]), crlf(eleven), crlf(eleven)},
		{"eol=crlf", nil, "a.txt text eol=crlf\n", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"CRLF in the repository", nil, "", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"the agent turned CRLF into LF", nil, "", crlf(ten), crlf(ten), ten, ten},
		{"the agent turned LF into CRLF, the user edited", nil, "", ten, "0\n" + ten, crlf(ten), crlf("0\n" + ten)},
		{"the user turned LF into CRLF, the agent edited", nil, "", ten, crlf(ten), eleven, crlf(eleven)},
		{"mixed in the repository", nil, "", "1\r\n2\n", "1\r\n2\n", "1\r\n2\n3\r\n", "1\r\n2\n3\r\n"},
		{"no newline at the end", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n6", "0\n1\n2\n3\n4\n6"},
		{"a newline at the end is added", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n"},
		{"an empty file is filled", []string{"core.autocrlf", "true"}, "", "", "", ten, crlf(ten)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"a.txt": c.committed}
			if c.attributes != "" {
				files[".gitattributes"] = c.attributes
			}
			b := newRepository(t, nil)
			if c.config != nil {
				gitIn(t, b.repo, "config", c.config[0], c.config[1])
			}
			for name, content := range files {
				b.user(name, content)
			}
			gitIn(t, b.repo, "add", "-A")
			gitIn(t, b.repo, "commit", "-qm", "files")
			b.prepare()
			b.user("a.txt", c.yours)
			b.write("a.txt", c.theirs)
			b.mustPlace()
			b.holds("a.txt", c.want)
		})
	}
}

// TestNewFilesGetTheLineEndingsOfACheckout compares with git itself.
func TestNewFilesGetTheLineEndingsOfACheckout(t *testing.T) {
	contents := map[string]string{
		"lf.txt": ten, "crlf.txt": strings.ReplaceAll(ten, "\n", "\r\n"), "mixed.txt": "1\r\n2\n", "none.txt": "no newline", "empty.txt": "",
		"binary.txt": "\x00\n\n", "control.txt": "\x01\x02\n", "cr.txt": "1\r2\n", "escape.txt": "\x1b[1m\n\x1a",
	}
	attributes := []string{
		"", "text", "-text", "text=auto", "text=auto eol=crlf", "text=auto eol=lf", "eol=crlf", "eol=lf", "text eol=crlf", "text=input", "text=input eol=crlf",
		"crlf", "-crlf", "crlf=input", "binary", "-text eol=crlf",
	}
	for _, config := range [][2]string{{"true", ""}, {"input", "lf"}, {"input", ""}, {"false", "crlf"}, {"false", "lf"}, {"false", ""}} {
		t.Run(fmt.Sprintf("%q", config), func(t *testing.T) {
			b := newRepository(t, nil)
			for i, attribute := range attributes {
				b.user(fmt.Sprintf("%d/.gitattributes", i), "*.txt "+attribute+"\n")
			}
			gitIn(t, b.repo, "add", "-A")
			gitIn(t, b.repo, "commit", "-q", "-m", "attributes")
			gitIn(t, b.repo, "config", "core.autocrlf", config[0])
			if config[1] != "" {
				gitIn(t, b.repo, "config", "core.eol", config[1])
			}
			b.prepare()
			for i := range attributes {
				for name, content := range contents {
					b.write(fmt.Sprintf("%d/%s", i, name), content)
				}
			}
			cs := b.compute()
			b.mustPlace()
			checkout := t.TempDir()
			env := []string{
				"GIT_DIR=" + b.inRepo(".git"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + b.ws.GitDir + "/objects",
				"GIT_INDEX_FILE=" + checkout + "/.index", "GIT_WORK_TREE=" + checkout,
			}
			gitWith(t, env, nil, "read-tree", cs.Tree)
			gitWith(t, env, nil, "checkout-index", "-a", "-q")
			for i, attribute := range attributes {
				for base := range contents {
					name := fmt.Sprintf("%d/%s", i, base)
					want, err := os.ReadFile(filepath.Join(checkout, name))
					must(t, err)
					if got, err := os.ReadFile(b.inRepo(name)); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%q %s: %q (%v), git writes %q", attribute, base, got, err, want)
					}
				}
			}
		})
	}
}

func TestThereIsNoWorkingTreeOfAClone(t *testing.T) {
	from := newRepository(t, map[string]string{"a.txt": "a\n"})
	b := &bench{t: t, repo: "file://" + from.repo, home: t.TempDir()}
	b.prepare()
	b.write("a.txt", "agent\n")
	_, err := b.place()
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no working tree") {
		t.Errorf("error: %v", err)
	}
}

func TestARepositoryThatIsGoneIsNamed(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "a\n"}).prepare()
	b.write("a.txt", "agent\n")
	must(t, os.Rename(b.repo, b.repo+".moved"))
	if _, err := b.place(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("error: %v", err)
	}
	must(t, os.Mkdir(b.repo, 0o755))
	if _, err := b.place(); fault.KindOf(err) != fault.Usage {
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
