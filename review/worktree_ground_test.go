package review_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
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

// leaveMerge leaves a merge of b.txt that is not finished.
func (b *bench) leaveMerge() {
	gitIn(b.t, b.repo, "checkout", "-q", "-b", "side")
	b.user("b.txt", "side\n")
	gitIn(b.t, b.repo, "commit", "-qam", "side")
	gitIn(b.t, b.repo, "checkout", "-q", "main")
	b.user("b.txt", "main\n")
	gitIn(b.t, b.repo, "commit", "-qam", "main")
	_ = gitFails(b.repo, "merge", "side")
}

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
