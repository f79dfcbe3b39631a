package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/unprivileged"
	"aibox/workspace"
)

// worked returns a workspace in which an agent has worked, with a tree of all its work and
// one of a part.
func worked(t *testing.T) (ws *workspace.Workspace, req workspace.ThrowawayRequest) {
	t.Helper()
	home := t.TempDir()
	repo := repository(t)
	write(t, repo+"/.gitignore", "ignored/\n")
	write(t, repo+"/kept.txt", "kept\n")
	write(t, repo+"/gone.txt", "gone\n")
	write(t, repo+"/becomes", "a file\n")
	write(t, repo+"/dir/only.txt", "only\n")
	write(t, repo+"/.env", "SECRET=1\n")
	gitIn(t, repo, "add", "-A", "-f")
	gitIn(t, repo, "commit", "-q", "-m", "more")
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa-shell", Dirs: dirsIn(home)})
	must(t, err)
	write(t, ws.Path+"/kept.txt", "changed\n")
	write(t, ws.Path+"/new.txt", "new\n")
	write(t, ws.Path+"/ignored/module.js", "installed\n")
	must(t, os.Remove(ws.Path+"/gone.txt"))
	must(t, os.Remove(ws.Path+"/becomes"))
	write(t, ws.Path+"/becomes/inside.txt", "inside\n")
	must(t, os.RemoveAll(ws.Path+"/dir"))
	must(t, os.Symlink("/etc", ws.Path+"/dir"))
	return ws, workspace.ThrowawayRequest{
		Of: ws, Has: treeOf(t, ws, ws.Path), Tree: ws.BaseTree, Session: "verify-0aaaa", Dirs: dirsIn(home),
	}
}

// treeOf writes the files in dir to the owned repository as a tree, including the hidden
// files of the baseline.
func treeOf(t *testing.T, ws *workspace.Workspace, dir string) string {
	t.Helper()
	index := t.TempDir() + "/index"
	run := func(args ...string) string {
		t.Setenv("GIT_INDEX_FILE", index)
		t.Setenv("GIT_DIR", ws.GitDir)
		t.Setenv("GIT_WORK_TREE", dir)
		return gitIn(t, dir, args...)
	}
	run("add", "-A", ".")
	tree := run("write-tree")
	for _, name := range []string{"GIT_INDEX_FILE", "GIT_DIR", "GIT_WORK_TREE"} {
		must(t, os.Unsetenv(name))
	}
	return tree
}

func TestAThrowawayCopyHasAllFilesOfTheAgent(t *testing.T) {
	ws, req := worked(t)
	req.Tree = req.Has
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	if copied.Path == ws.Path || filepath.Dir(copied.Path) != filepath.Dir(ws.Path) {
		t.Fatalf("the copy is at %s", copied.Path)
	}
	for path, want := range map[string]string{
		"kept.txt": "changed\n", "new.txt": "new\n", "ignored/module.js": "installed\n", "becomes/inside.txt": "inside\n",
	} {
		if got := read(t, copied.Path+"/"+path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if target, err := os.Readlink(copied.Path + "/dir"); err != nil || target != "/etc" {
		t.Errorf("the symlink leads to %q (%v)", target, err)
	}
	if _, err := os.Lstat(copied.Path + "/.git/HEAD"); err != nil {
		t.Errorf("the copy has no .git: %v", err)
	}
	if inode(t, copied.Path+"/kept.txt") == inode(t, ws.Path+"/kept.txt") {
		t.Error("a file of the copy is the file of the workspace")
	}
	must(t, workspace.Remove(t.Context(), copied))
	if _, err := os.Lstat(copied.Path); !os.IsNotExist(err) {
		t.Error("the copy is still there")
	}
	if got := read(t, ws.Path+"/kept.txt"); got != "changed\n" {
		t.Error("the workspace was touched")
	}
}

func TestAThrowawayCopyHasTheRequestedTree(t *testing.T) {
	ws, req := worked(t)
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	for path, want := range map[string]string{
		"kept.txt": "kept\n", "gone.txt": "gone\n", "becomes": "a file\n", "dir/only.txt": "only\n", "ignored/module.js": "installed\n",
	} {
		if got := read(t, copied.Path+"/"+path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"new.txt", ".env"} {
		if _, err := os.Lstat(copied.Path + "/" + path); !os.IsNotExist(err) {
			t.Errorf("%s is in the copy", path)
		}
	}
	if _, err := os.Lstat("/etc/only.txt"); !os.IsNotExist(err) {
		t.Error("a symlink was followed out of the copy")
	}
	if _, err := os.Lstat(ws.Path + "/new.txt"); err != nil {
		t.Errorf("the workspace was touched: %v", err)
	}
}

func TestAThrowawayCopyOfARemovedWorkspaceHasOnlyTheTree(t *testing.T) {
	ws, req := worked(t)
	req.Tree = req.Has
	must(t, os.RemoveAll(ws.Path))
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	if got := read(t, copied.Path+"/kept.txt"); got != "changed\n" {
		t.Errorf("kept.txt holds %q", got)
	}
	if _, err := os.Lstat(copied.Path + "/ignored"); !os.IsNotExist(err) {
		t.Error("ignored files came from nowhere")
	}
	if len(copied.Notes) != 1 || !strings.Contains(copied.Notes[0], "is gone") {
		t.Errorf("the notes are %q", copied.Notes)
	}
}

// Root in a sandbox, which needs no rights, may remove those of files and folders.
func TestCopiesHaveFilesAndFoldersWithoutRights(t *testing.T) {
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	ws, req := worked(t)
	req.Tree = req.Has
	for path, mode := range map[string]os.FileMode{"src/plain": 0o644, "src/closed": 0, "src/listed": 0o400} {
		write(t, ws.Path+"/"+path+"/in/file.txt", "x\n")
		must(t, os.Chmod(ws.Path+"/"+path, mode))
		t.Cleanup(func() { _ = os.Chmod(ws.Path+"/"+path, 0o755) })
	}
	t.Cleanup(func() { _ = errors.Join(os.Chmod(ws.Path, 0o755), os.Chmod(ws.Path+"/src", 0o755)) })
	must(t, os.Chmod(ws.Path+"/kept.txt", 0))
	must(t, os.Chmod(ws.Path+"/src", 0o644))
	must(t, os.Chmod(ws.Path, 0o600))
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	must(t, errors.Join(os.Chmod(ws.Path+"/src", 0o444), os.Chmod(ws.Path, 0)))
	fork, err := workspace.Fork(t.Context(), workspace.ForkRequest{Of: ws, Session: "0bbbb-shell", Dirs: req.Dirs})
	must(t, err)
	must(t, os.Chmod(ws.Path, 0o300))
	tree := &workspace.Workspace{Path: t.TempDir() + "/tree"}
	tree.Notes, err = workspace.CopyTree(t.Context(), ws.Path, tree.Path)
	must(t, err)
	for _, made := range []*workspace.Workspace{copied, fork, tree} {
		for path, want := range map[string]string{
			"src/plain/in/file.txt": "x\n", "src/closed/in/file.txt": "x\n", "src/listed/in/file.txt": "x\n", "kept.txt": "changed\n",
		} {
			if got := read(t, made.Path+"/"+path); got != want {
				t.Errorf("%s holds %q", path, got)
			}
		}
		if notes := strings.Join(made.Notes, "\n"); strings.Contains(notes, "lacks") {
			t.Errorf("the notes are %q", made.Notes)
		}
	}
}

// Root in a sandbox can give the top of the workspace to another user, as it can any folder.
func TestAWorkspaceThatBelongsToAnotherUserOfTheSandboxIsCopied(t *testing.T) {
	for _, mode := range []os.FileMode{0o700, 0o300, 0} {
		ws, req := worked(t)
		req.Tree = req.Has
		give := func() {
			t.Helper()
			must(t, os.Chmod(ws.Path, mode))
			args := []string{"chown", "-h", "1000:1000", "--", ws.Path}
			if os.Getuid() != 0 {
				args = append([]string{"unshare", "--user", "--map-root-user", "--map-auto", "--"}, args...)
			}
			if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		give()
		t.Cleanup(func() { _ = errors.Join(workspace.Reclaim(context.Background(), ws), os.Chmod(ws.Path, 0o755)) })
		fork, err := workspace.Fork(t.Context(), workspace.ForkRequest{Of: ws, Session: "0bbbb-shell", Dirs: req.Dirs})
		must(t, err)
		give()
		copied, err := workspace.Throwaway(t.Context(), req)
		must(t, err)
		give()
		tree := t.TempDir() + "/tree"
		notes, err := workspace.CopyTree(t.Context(), ws.Path, tree)
		must(t, err)
		for _, path := range []string{fork.Path, copied.Path, tree} {
			if got := read(t, path+"/kept.txt"); got != "changed\n" {
				t.Errorf("%v: %s has %q", mode, path, got)
			}
		}
		if all := strings.Join(slices.Concat(fork.Notes, copied.Notes, notes), "\n"); strings.Contains(all, "lacks") {
			t.Errorf("%v: the notes are %q", mode, all)
		}
	}
}

func TestACopyOfARunningAgentsFilesCountsWhatCannotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	ws, req := worked(t)
	req.Tree, req.Live = req.Has, true
	write(t, ws.Path+"/src/file.txt", "x\n")
	must(t, os.Chmod(ws.Path+"/src", 0o644))
	t.Cleanup(func() { _ = os.Chmod(ws.Path+"/src", 0o755) })
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	if len(copied.Notes) != 1 || !strings.Contains(copied.Notes[0], "lacks 1 files that cannot be read") {
		t.Errorf("the notes are %q", copied.Notes)
	}
	if info, err := os.Stat(ws.Path + "/src"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the agent's folder was changed: %v, %v", info, err)
	}
}

func TestAThrowawayCopySkipsSpecialFiles(t *testing.T) {
	ws, req := worked(t)
	must(t, unix.Mkfifo(ws.Path+"/pipe", 0o600))
	must(t, os.Link(ws.Path+"/kept.txt", ws.Path+"/second name"))
	copied, err := workspace.Throwaway(t.Context(), req)
	must(t, err)
	if _, err := os.Lstat(copied.Path + "/pipe"); !os.IsNotExist(err) {
		t.Error("the pipe is in the copy")
	}
	var st syscall.Stat_t
	must(t, syscall.Lstat(copied.Path+"/second name", &st))
	if st.Nlink != 1 {
		t.Errorf("a file of the copy has %d names", st.Nlink)
	}
	if !strings.Contains(strings.Join(copied.Notes, "\n"), "lacks 1 devices, pipes, sockets or mounts") {
		t.Errorf("the notes are %q", copied.Notes)
	}
}

func TestAFailedThrowawayCopyLeavesNothing(t *testing.T) {
	_, req := worked(t)
	req.Tree = strings.Repeat("1", 40)
	made := ""
	req.Observer.Made = func(path string) { made = path }
	if _, err := workspace.Throwaway(t.Context(), req); err == nil {
		t.Fatal("a tree that is not there was put")
	}
	if _, err := os.Lstat(made); made == "" || !os.IsNotExist(err) {
		t.Errorf("%s is still there", made)
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	must(t, syscall.Lstat(path, &st))
	return st.Ino
}

func TestLineEndingsOfTheUserAreRestored(t *testing.T) {
	home := t.TempDir()
	repo := repository(t)
	gitIn(t, repo, "config", "core.autocrlf", "true")
	write(t, repo+"/dos.txt", "one\r\ntwo\r\n")
	gitIn(t, repo, "add", "dos.txt")
	gitIn(t, repo, "commit", "-q", "-m", "dos")
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa-shell", Dirs: dirsIn(home)})
	must(t, err)
	write(t, ws.Path+"/dos.txt", "changed\n")
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{
		Of: ws, Has: treeOf(t, ws, ws.Path), Tree: ws.BaseTree, Session: "verify-0aaaa", Dirs: dirsIn(home),
	})
	must(t, err)
	if got := read(t, copied.Path+"/dos.txt"); got != "one\r\ntwo\r\n" {
		t.Errorf("the file of the repository is %q", got)
	}
}

func TestAThrowawayCopyHasReadOnlyFilesAsTheyWere(t *testing.T) {
	home, repo := t.TempDir(), repository(t)
	write(t, repo+"/.gitignore", "*.pyc\n")
	write(t, repo+"/code.txt", "code\n")
	write(t, repo+"/tests/a.txt", "a\n")
	write(t, repo+"/tests/gone.txt", "gone\n")
	write(t, repo+"/ci/build.txt", "build\n")
	write(t, repo+"/sum", "sum\n")
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-q", "-m", "more")
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa-shell", Dirs: dirsIn(home), ReadOnly: []string{"tests/", "/ci/*", "sum", "nothing/"}})
	must(t, err)
	if len(ws.UnmatchedReadOnly) != 1 || ws.UnmatchedReadOnly[0] != "nothing/" {
		t.Errorf("patterns that match nothing: %q", ws.UnmatchedReadOnly)
	}
	write(t, ws.Path+"/code.txt", "changed\n")
	tree := treeOf(t, ws, ws.Path) // as a change set has it: without what follows
	write(t, ws.Path+"/tests/a.txt", "changed\n")
	write(t, ws.Path+"/tests/conftest.txt", "new\n")
	write(t, ws.Path+"/tests/cache/x.pyc", "ignored\n")
	must(t, os.Remove(ws.Path+"/tests/gone.txt"))
	must(t, os.RemoveAll(ws.Path+"/ci"))
	must(t, os.Symlink(home, ws.Path+"/ci"))
	must(t, os.Remove(ws.Path+"/sum"))
	write(t, ws.Path+"/sum/below.txt", "below\n")
	write(t, ws.Path+"/other.pyc", "ignored\n")

	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{Of: ws, Has: tree, Tree: tree, Session: "verify-0aaaa", Dirs: dirsIn(home)})
	must(t, err)
	for path, want := range map[string]string{
		"code.txt": "changed\n", "tests/a.txt": "a\n", "tests/gone.txt": "gone\n", "ci/build.txt": "build\n", "sum": "sum\n", "other.pyc": "ignored\n",
	} {
		if got := read(t, copied.Path+"/"+path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"/tests/conftest.txt", "/tests/cache", "/sum/below.txt"} {
		if _, err := os.Lstat(copied.Path + path); err == nil {
			t.Errorf("%s is in the copy", path)
		}
	}
	if left, _ := filepath.Glob(home + "/build.txt"); len(left) > 0 {
		t.Error("a symlink was followed out of the copy")
	}
}

func TestAThrowawayCopyHasFilteredReadOnlyFilesAsTheyWereOnDisk(t *testing.T) {
	home, repo := t.TempDir(), repository(t)
	gitIn(t, repo, "config", "filter.up.clean", "tr a-z A-Z")
	gitIn(t, repo, "config", "filter.up.smudge", "tr A-Z a-z")
	commit(t, repo, map[string]string{".gitattributes": "*.up filter=up\n", "tests/same.up": "same\n", "tests/changed.up": "changed\n"})
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa-shell", Dirs: dirsIn(home), ReadOnly: []string{"tests/"}})
	must(t, err)
	write(t, ws.Path+"/tests/changed.up", "by the agent\n")
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{Of: ws, Has: ws.BaseTree, Tree: ws.BaseTree, Session: "verify-0aaaa", Dirs: dirsIn(home)})
	must(t, err)
	for path, want := range map[string]string{"tests/same.up": "same\n", "tests/changed.up": "CHANGED\n"} {
		if got := read(t, copied.Path+"/"+path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if notes := strings.Join(copied.Notes, "\n"); !strings.HasPrefix(notes, "1 files are as the repository stores them") {
		t.Errorf("the notes are %q", notes)
	}
}

func TestAPatternOfReadOnlyFilesThatMatchesEverythingKeepsTheRepositoryInTheCopy(t *testing.T) {
	home, repo := t.TempDir(), repository(t)
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa-shell", Dirs: dirsIn(home), ReadOnly: []string{"*"}})
	must(t, err)
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{Of: ws, Has: ws.BaseTree, Tree: ws.BaseTree, Session: "verify-0aaaa", Dirs: dirsIn(home)})
	must(t, err)
	if _, err := os.Lstat(copied.Path + "/.git/HEAD"); err != nil {
		t.Errorf("the copy has no .git: %v", err)
	}
}
