package review_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
)

// TestWhatStandsInTheWayIsListedAndNothingIsTouched has one case for each way in which
// the user's side may clash with the agent's.
func TestWhatStandsInTheWayIsListedAndNothingIsTouched(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": ten, "b.txt": "b\n", "d/c.txt": "c\n", "f/deep/x": "x\n", "bin": "\x00one\n"}
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
			"a file deep in a folder where a file is to be", func(b *bench) { b.write("new", "agent\n") },
			func(b *bench) { must(b.t, os.MkdirAll(b.inRepo("new/empty"), 0o755)); b.user("new/deep/x", "user\n") },
			[]string{"new: a folder of yours stands there, with new/deep/x"},
		},
		{
			"a file where a folder of the agent's was", func(b *bench) { must(b.t, os.RemoveAll(b.path("f"))); b.write("f", "a file\n") },
			func(b *bench) { must(b.t, os.RemoveAll(b.inRepo("f/deep"))); b.user("f/deep", "user\n") },
			[]string{"f: a folder of yours stands there, with f/deep"},
		},
		{
			"a submodule without its files", func(b *bench) { b.write("new", "agent\n") },
			func(b *bench) {
				other := newRepository(b.t, map[string]string{"c.txt": "c\n"})
				gitIn(b.t, b.repo, "-c", "protocol.file.allow=always", "submodule", "-q", "add", other.repo, "new/module")
				gitIn(b.t, b.repo, "submodule", "-q", "deinit", "-f", "new/module")
			},
			[]string{"new: a folder of yours stands there, with new/module"},
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
		{"unmerged", func(b *bench) { b.write("b.txt", "agent\n") }, leaveMerge, []string{"b.txt: a merge that you have not finished"}},
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
				b.user(".gitattributes", "*.txt filter=mine\n")
				b.user("a.txt", "user\n")
				gitIn(b.t, b.repo, "config", "filter.mine.smudge", "touch "+b.inRepo("canary"))
				gitIn(b.t, b.repo, "config", "filter.mine.clean", "cat; test $(pwd) = "+b.repo+" || touch "+b.inRepo("canary"))
			},
			[]string{"a.txt: filter=mine"},
		},
		{
			"another encoding", func(b *bench) { b.write("a.txt", "agent\n"); b.write("new", "agent\n") },
			func(b *bench) {
				b.user(".gitattributes", "* working-tree-encoding=UTF-16LE\n")
				b.user("a.txt", "u\x00s\x00")
			},
			[]string{"a.txt: UTF-16LE"},
		},
		{
			"ident", func(b *bench) { b.write("a.txt", "agent\n"); b.write("new", "agent\n") },
			func(b *bench) { b.user(".gitattributes", "* ident\n"); b.user("a.txt", "user\n") },
			[]string{"a.txt: ident"},
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
			clashes(b, c.want...)
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

func TestAnAcceptThatDeliversNothingLeavesNoState(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten}).prepare()
	b.write("a.txt", "agent\n"+ten)
	b.user("a.txt", "user\n"+ten)
	gitIn(t, b.repo, "branch", "taken")
	cs := b.compute()
	for _, opts := range []review.AcceptOptions{{Target: review.ToWorktree}, {Branch: "taken"}} {
		opts.Choice = review.Choice{All: true}
		_, err := review.Accept(t.Context(), b.ws, cs, opts)
		if fault.KindOf(err) != fault.Conflict {
			t.Fatalf("%s: %v", opts.Target, err)
		}
		if saved, err := review.Recoverable(t.Context(), filepath.Dir(b.ws.GitDir), ""); err != nil || len(saved) > 0 {
			t.Errorf("%s: saved are %+v, %v", opts.Target, saved, err)
		}
	}
}
