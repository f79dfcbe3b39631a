package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
)

// TestClashesAreListedAndNothingIsChanged has one case for each way in which
// the user's side may clash with the agent's.
func TestClashesAreListedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": reviewtest.Ten, "b.txt": "b\n", "d/c.txt": "c\n", "f/deep/x": "x\n", "bin": "\x00one\n"}
	for _, c := range []struct {
		name  string
		agent func(b *reviewtest.Fixture)
		user  func(b *reviewtest.Fixture)
		want  []string
	}{
		{
			"the same lines", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n"+reviewtest.Ten); b.Write("b.txt", "fine\n") },
			func(b *reviewtest.Fixture) { b.User("a.txt", "user\n"+reviewtest.Ten) },
			[]string{"a.txt: same lines"},
		},
		{
			"several", func(b *reviewtest.Fixture) {
				b.Write("a.txt", "agent\n"+reviewtest.Ten)
				b.Write("b.txt", "agent\n")
				b.Write("n", "n\n")
			},
			func(b *reviewtest.Fixture) { b.User("a.txt", "user\n"+reviewtest.Ten); b.User("b.txt", "user\n") },
			[]string{"a.txt: same lines", "b.txt: same lines"},
		},
		{"binary", func(b *reviewtest.Fixture) { b.Write("bin", "\x00agent") }, func(b *reviewtest.Fixture) { b.User("bin", "\x00user") }, []string{"bin: binary"}},
		{
			"changed and deleted", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Remove(b.Path("a.txt"))) },
			func(b *reviewtest.Fixture) { b.User("a.txt", "user\n") },
			[]string{"a.txt: agent deleted"},
		},
		{
			"mode and deleted", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Remove(b.Path("a.txt"))) },
			func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Chmod(b.InRepo("a.txt"), 0o755)) },
			[]string{"a.txt: agent deleted"},
		},
		{
			"deleted and changed", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Remove(b.InRepo("a.txt"))) },
			[]string{"a.txt: you deleted"},
		},
		{
			"deleted and renamed", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Rename(b.Path("a.txt"), b.Path("z.txt"))) },
			func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Remove(b.InRepo("a.txt"))) },
			[]string{"z.txt: you deleted a.txt"},
		},
		{"both added", func(b *reviewtest.Fixture) { b.Write("new", "agent\n") }, func(b *reviewtest.Fixture) { b.User("new", "user\n") }, []string{"new: you already have a file there"}},
		{
			"both added, another mode", func(b *reviewtest.Fixture) { b.Write("new", "x\n") },
			func(b *reviewtest.Fixture) {
				b.User("new", "x\n")
				reviewtest.Must(b.T, os.Chmod(b.InRepo("new"), 0o755))
			},
			[]string{"new: you already have a file there"},
		},
		{
			"renamed to where a file stands", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Rename(b.Path("a.txt"), b.Path("new"))) },
			func(b *reviewtest.Fixture) { b.User("new", "user\n") },
			[]string{"new: you already have a file there"},
		},
		{
			"a symlink made of it", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.Remove(b.InRepo("a.txt")))
				reviewtest.Must(b.T, os.Symlink("b.txt", b.InRepo("a.txt")))
			},
			[]string{"a.txt: symlink"},
		},
		{"becomes a symlink", func(b *reviewtest.Fixture) {
			reviewtest.Must(b.T, os.Remove(b.Path("a.txt")))
			reviewtest.Must(b.T, os.Symlink("b.txt", b.Path("a.txt")))
		}, func(b *reviewtest.Fixture) { b.User("a.txt", reviewtest.Ten+"user\n") }, []string{"a.txt: symlink"}},
		{
			"a folder made of it", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.Remove(b.InRepo("a.txt")))
				b.User("a.txt/x", "user\n")
			},
			[]string{"a.txt: something else"},
		},
		{
			"a folder where a file is to be", func(b *reviewtest.Fixture) { b.Write("new", "agent\n") },
			func(b *reviewtest.Fixture) { b.User("new/x", "user\n") },
			[]string{"new: you have a folder there, with new/x"},
		},
		{
			"a folder that is not empty after all", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.RemoveAll(b.Path("d"))); b.Write("d", "a file\n") },
			func(b *reviewtest.Fixture) { b.User("d/mine", "user\n") },
			[]string{"d: with d/mine in it"},
		},
		{
			"a file deep in a folder where a file is to be", func(b *reviewtest.Fixture) { b.Write("new", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.MkdirAll(b.InRepo("new/empty"), 0o755))
				b.User("new/deep/x", "user\n")
			},
			[]string{"new: you have a folder there, with new/deep/x"},
		},
		{
			"a file where a folder of the agent's was", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.RemoveAll(b.Path("f"))); b.Write("f", "a file\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.RemoveAll(b.InRepo("f/deep")))
				b.User("f/deep", "user\n")
			},
			[]string{"f: you have a folder there, with f/deep"},
		},
		{
			"a submodule without its files", func(b *reviewtest.Fixture) { b.Write("new", "agent\n") },
			func(b *reviewtest.Fixture) {
				other := reviewtest.NewRepository(b.T, map[string]string{"c.txt": "c\n"})
				reviewtest.GitIn(b.T, b.Repo, "-c", "protocol.file.allow=always", "submodule", "-q", "add", other.Repo, "new/module")
				reviewtest.GitIn(b.T, b.Repo, "submodule", "-q", "deinit", "-f", "new/module")
			},
			[]string{"new: you have a folder there, with new/module"},
		},
		{
			"a file where a folder is to be", func(b *reviewtest.Fixture) { b.Write("new/x", "agent\n") },
			func(b *reviewtest.Fixture) { b.User("new", "user\n") },
			[]string{"new/x: a file of yours is in the place of its folder"},
		},
		{
			"a symlink where a folder is to be", func(b *reviewtest.Fixture) { b.Write("new/x", "agent\n") },
			func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Symlink(b.T.TempDir(), b.InRepo("new"))) },
			[]string{"new/x: a symlink of yours is on the way"},
		},
		{
			"a symlink where a folder was", func(b *reviewtest.Fixture) { b.Write("d/c.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.Rename(b.InRepo("d"), b.InRepo("e")))
				reviewtest.Must(b.T, os.Symlink("e", b.InRepo("d")))
			},
			[]string{"d/c.txt: a symlink of yours is on the way"},
		},
		{
			"a pipe", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.Must(b.T, os.Remove(b.InRepo("a.txt")))
				reviewtest.Must(b.T, unix.Mkfifo(b.InRepo("a.txt"), 0o644))
			},
			[]string{"a.txt: something else"},
		},
		{"unmerged", func(b *reviewtest.Fixture) { b.Write("b.txt", "agent\n") }, leaveMerge, []string{"b.txt: a merge that you have not finished"}},
		{"in a submodule", func(b *reviewtest.Fixture) { b.Write("d/c.txt", "agent\n") }, func(b *reviewtest.Fixture) {
			other := reviewtest.NewRepository(b.T, map[string]string{"c.txt": "c\n"})
			reviewtest.Must(b.T, os.RemoveAll(b.InRepo("d")))
			reviewtest.GitIn(b.T, b.Repo, "rm", "-rq", "--cached", "d")
			reviewtest.GitIn(b.T, b.Repo, "-c", "protocol.file.allow=always", "submodule", "-q", "add", other.Repo, "d")
		}, []string{"d/c.txt: in a submodule"}},
		{
			"in a repository of its own", func(b *reviewtest.Fixture) { b.Write("d/new", "agent\n") },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.InRepo("d"), "init", "-q") },
			[]string{"d/new: d is a repository of its own"},
		},
		{
			"not checked out", func(b *reviewtest.Fixture) { b.Write("d/c.txt", "agent\n"); b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				reviewtest.GitIn(b.T, b.Repo, "sparse-checkout", "set", "--no-cone", "/*", "!/d/")
			},
			[]string{"d/c.txt: not checked out"},
		},
		{
			"marked skip-worktree", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n") },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "update-index", "--skip-worktree", "a.txt") },
			[]string{"a.txt: not checked out"},
		},
		{
			"a filter of the user's", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n"); b.Write("new.txt", "agent\n") },
			func(b *reviewtest.Fixture) {
				b.User(".gitattributes", "*.txt filter=mine\n")
				b.User("a.txt", "user\n")
				reviewtest.GitIn(b.T, b.Repo, "config", "filter.mine.smudge", "touch "+b.InRepo("canary"))
				reviewtest.GitIn(b.T, b.Repo, "config", "filter.mine.clean", "cat; test $(pwd) = "+b.Repo+" || touch "+b.InRepo("canary"))
			},
			[]string{"a.txt: filter=mine"},
		},
		{
			"another encoding", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n"); b.Write("new", "agent\n") },
			func(b *reviewtest.Fixture) {
				b.User(".gitattributes", "* working-tree-encoding=UTF-16LE\n")
				b.User("a.txt", "u\x00s\x00")
			},
			[]string{"a.txt: UTF-16LE"},
		},
		{
			"ident", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n"); b.Write("new", "agent\n") },
			func(b *reviewtest.Fixture) { b.User(".gitattributes", "* ident\n"); b.User("a.txt", "user\n") },
			[]string{"a.txt: ident"},
		},
		{
			"a merge driver of the user's", func(b *reviewtest.Fixture) { b.Write("a.txt", "agent\n"+reviewtest.Ten) },
			func(b *reviewtest.Fixture) {
				b.User(".gitattributes", "*.txt merge=ours\n")
				b.User("a.txt", reviewtest.Ten+"user\n")
			},
			[]string{"a.txt: merged as text"},
		},
		{
			"in case only", func(b *reviewtest.Fixture) { b.Write("A.TXT", "agent\n"); b.Write("D/new", "agent\n") },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "config", "core.ignorecase", "true") },
			[]string{"A.TXT: differs from your a.txt in case only", "D/new: differs from your d in case only"},
		},
		{
			"renamed in case only", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Rename(b.Path("a.txt"), b.Path("A.txt"))) },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "config", "core.ignorecase", "true") },
			[]string{"A.txt: in case only"},
		},
		{
			"no modes", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Chmod(b.Path("a.txt"), 0o755)) },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "config", "core.fileMode", "false") },
			[]string{"a.txt: core.fileMode"},
		},
		{
			"no symlinks", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Symlink("x", b.Path("l"))) },
			func(b *reviewtest.Fixture) { reviewtest.GitIn(b.T, b.Repo, "config", "core.symlinks", "false") },
			[]string{"l: core.symlinks"},
		},
		{
			"one file under two names", func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Rename(b.Path("a.txt"), b.Path("A.txt"))) },
			func(b *reviewtest.Fixture) { reviewtest.Must(b.T, os.Link(b.InRepo("a.txt"), b.InRepo("A.txt"))) },
			[]string{"A.txt: one file with your a.txt"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := reviewtest.NewRepository(t, files).Prepare()
			c.agent(b)
			c.user(b)
			clashes(b, c.want...)
			if _, err := os.Lstat(b.InRepo("canary")); err == nil {
				t.Error("a filter ran")
			}
		})
	}
}

// gitFails runs a git command that is expected to fail.
func gitFails(dir string, args ...string) error {
	return exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...).Run()
}

func TestAnAcceptThatDeliversNothingLeavesNoState(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten}).Prepare()
	b.Write("a.txt", "agent\n"+reviewtest.Ten)
	b.User("a.txt", "user\n"+reviewtest.Ten)
	reviewtest.GitIn(t, b.Repo, "branch", "taken")
	cs := b.Compute()
	for _, opts := range []accept.Options{{Target: accept.ToWorktree}, {Branch: "taken"}} {
		opts.Choice = review.Choice{All: true}
		_, err := accept.Run(t.Context(), b.Workspace, cs, opts)
		if fault.KindOf(err) != fault.Conflict {
			t.Fatalf("%s: %v", opts.Target, err)
		}
		if saved, err := recovery.Points(t.Context(), filepath.Dir(b.Workspace.GitDir), ""); err != nil || len(saved) > 0 {
			t.Errorf("%s: saved are %+v, %v", opts.Target, saved, err)
		}
	}
}
