package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/workspace"
)

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	all := append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"}, args...)
	out, err := exec.CommandContext(t.Context(), "git", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func dirsIn(home string) paths.Dirs {
	return paths.Dirs{
		Home: home, Config: home + "/.config/aibox", State: home + "/.local/state/aibox",
		Data: home + "/.local/share/aibox", Cache: home + "/.cache/aibox", Workspace: home + "/agent_workspace",
	}
}

// repository is a repository named project with two files in one commit.
func repository(t testing.TB) string {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "project")
	must(t, os.Mkdir(repo, 0o755))
	gitIn(t, repo, "init", "-q", "-b", "main")
	gitIn(t, repo, "config", "user.name", "Ann")
	gitIn(t, repo, "config", "user.email", "ann@example.org")
	commit(t, repo, map[string]string{"a.txt": "one\ntwo\n", "dir/b.txt": "bee\n"})
	return repo
}

func commit(t testing.TB, repo string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		write(t, filepath.Join(repo, name), content)
	}
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-qm", "commit")
}

func prepare(t testing.TB, repo string, change ...func(*workspace.Request)) (*workspace.Workspace, error) {
	t.Helper()
	req := workspace.Request{Repo: repo, Session: "k3f9", Dirs: dirsIn(t.TempDir())}
	for _, f := range change {
		f(&req)
	}
	return workspace.Prepare(t.Context(), req)
}

// prepared prepares, and checks what always holds: git inside works, sees the
// same status as the user's, and no inode is shared.
func prepared(t testing.TB, repo string, change ...func(*workspace.Request)) *workspace.Workspace {
	t.Helper()
	ws, err := prepare(t, repo, change...)
	must(t, err)
	gitIn(t, ws.Path, "fsck", "--strict")
	must(t, filepath.WalkDir(ws.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s has several names", path)
		}
		return err
	}))
	return ws
}

func status(t testing.TB, repo string) string {
	return gitIn(t, repo, "status", "--porcelain", "--untracked-files=all")
}

func TestThePreparedWorkspaceIsCleanToGit(t *testing.T) {
	repo := repository(t)
	ws := prepared(t, repo)
	if out := status(t, ws.Path); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	if got := gitIn(t, ws.Path, "log", "--format=%s %H"); got != gitIn(t, repo, "log", "--format=%s %H") {
		t.Errorf("log: %s", got)
	}
	if got := gitIn(t, ws.Path, "symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("HEAD: %s", got)
	}
	if got := gitIn(t, ws.Path, "config", "user.name"); got != "Ann" {
		t.Errorf("user.name: %s", got)
	}
	if ws.Files != 2 || ws.Bytes != 12 || filepath.Base(ws.Path) != "project" {
		t.Errorf("%+v", ws)
	}
	must(t, workspace.Undo(t.Context(), ws))
	if _, err := os.Stat(ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}

func TestTheUsersUncommittedWorkComesAlong(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "changed\n")
	write(t, repo+"/staged.txt", "staged\n")
	gitIn(t, repo, "add", "staged.txt")
	write(t, repo+"/new dir/untracked", "u\n")
	write(t, repo+"/.env", "SECRET=1\n")
	must(t, os.Remove(repo+"/dir/b.txt"))
	must(t, os.Symlink("a.txt", repo+"/link"))
	write(t, repo+"/.git/info/exclude", "ignored\n")
	write(t, repo+"/ignored", "not copied\n")
	ws := prepared(t, repo)
	want := " M a.txt\n D dir/b.txt\n?? link\n?? \"new dir/untracked\"\n?? staged.txt"
	if got := status(t, ws.Path); got != want {
		t.Errorf("status:\n%s\nwant:\n%s", got, want)
	}
	if !slices.Equal(ws.Hidden, []string{".env"}) {
		t.Errorf("hidden: %v", ws.Hidden)
	}
	tree := gitIn(t, ws.GitDir, "ls-tree", "-r", "--name-only", ws.BaseTree)
	if tree != "a.txt\nlink\nnew dir/untracked\nstaged.txt" {
		t.Errorf("base tree:\n%s", tree)
	}
	clean := prepared(t, repo, func(r *workspace.Request) { r.Clean = true })
	if got := status(t, clean.Path); got != "" || clean.Uncommitted != "" {
		t.Errorf("with --clean:\n%s", got)
	}
	if got := read(t, clean.Path+"/a.txt"); got != "one\ntwo\n" {
		t.Errorf("a.txt: %q", got)
	}
}

func TestAnotherBranchIsTakenFromItsCommit(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "switch", "-qc", "feature/x")
	commit(t, repo, map[string]string{"feature.txt": "f\n"})
	must(t, os.Symlink("a.txt", repo+"/link"))
	must(t, os.Chmod(repo+"/a.txt", 0o755))
	commit(t, repo, nil)
	gitIn(t, repo, "switch", "-q", "main")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Branch = "feature/x" })
	if got := status(t, ws.Path); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := gitIn(t, ws.Path, "branch", "--show-current"); got != "feature/x" {
		t.Errorf("branch %s", got)
	}
	if info, err := os.Stat(ws.Path + "/a.txt"); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("a.txt: %v %v", info, err)
	}
}

func TestUnusualRepositoriesWork(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) string{
		"a subfolder": func(t *testing.T) string { return repository(t) + "/dir" },
		"a detached HEAD": func(t *testing.T) string {
			repo := repository(t)
			gitIn(t, repo, "switch", "-q", "--detach")
			return repo
		},
		"a shallow clone": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{"c.txt": "c\n"})
			clone := t.TempDir() + "/clone"
			gitIn(t, "/", "clone", "-q", "--depth=1", "file://"+repo, clone)
			return clone
		},
		"a worktree": func(t *testing.T) string {
			repo := repository(t)
			gitIn(t, repo, "config", "extensions.worktreeConfig", "true")
			tree := t.TempDir() + "/tree"
			gitIn(t, repo, "worktree", "add", "-q", tree)
			gitIn(t, tree, "config", "--worktree", "core.sparseCheckout", "false")
			return tree
		},
		"a .git file": func(t *testing.T) string {
			dir := t.TempDir()
			gitIn(t, dir, "init", "-q", "--separate-git-dir="+t.TempDir()+"/real", "work")
			commit(t, dir+"/work", map[string]string{"a.txt": "a\n"})
			return dir + "/work"
		},
		"awkward names": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{
				"with space": "1", "new\nline": "2", "-dash": "3", "\xff\xfe": "4", "\"q\"": "5", "tab\t/x": "6", "a\\b": "7",
			})
			return repo
		},
		"a sparse checkout": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{"out/c.txt": "c\n"})
			gitIn(t, repo, "sparse-checkout", "set", "dir")
			return repo
		},
		"CRLF by attribute": func(t *testing.T) string {
			repo := repository(t)
			commit(t, repo, map[string]string{".gitattributes": "*.txt text eol=crlf\n", "d.txt": "d\r\ne\r\n"})
			return repo
		},
		"a SHA-256 repository": func(t *testing.T) string {
			repo := filepath.Join(t.TempDir(), "project")
			gitIn(t, "/", "init", "-q", "--object-format=sha256", repo)
			commit(t, repo, map[string]string{"a.txt": "a\n"})
			return repo
		},
		"a name that is no folder name": func(t *testing.T) string {
			repo := filepath.Join(t.TempDir(), "..\x1b[31m né")
			must(t, os.Rename(repository(t), repo))
			return repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := make(t)
			before := status(t, repo)
			ws := prepared(t, repo)
			if got := status(t, ws.Path); got != before {
				t.Errorf("status:\n%s\nwant:\n%s", got, before)
			}
			if ws.Uncommitted != "" {
				t.Errorf("there is uncommitted work: %s", gitIn(t, ws.GitDir, "show", "--stat", ws.Uncommitted))
			}
			if got := ws.HeadRef; name == "a detached HEAD" && got != "" {
				t.Errorf("HEAD is on %s", got)
			}
		})
	}
}

func TestASubmoduleIsLeftOutWithANote(t *testing.T) {
	inner, repo := repository(t), repository(t)
	gitIn(t, repo, "submodule", "add", "-q", inner, "sub")
	commit(t, repo, nil)
	ws := prepared(t, repo)
	if names, err := os.ReadDir(ws.Path + "/sub"); err != nil || len(names) != 0 {
		t.Errorf("sub: %v %v", names, err)
	}
	if len(ws.Notes) != 1 || !strings.Contains(ws.Notes[0], "submodule sub") {
		t.Errorf("notes: %v", ws.Notes)
	}
	if got := status(t, ws.Path); got != "" {
		t.Errorf("status:\n%s", got)
	}
}

func TestAFileBehindAFilterKeepsTheUsersBlob(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "config", "filter.up.clean", "tr a-z A-Z")
	gitIn(t, repo, "config", "filter.up.smudge", "tr A-Z a-z")
	commit(t, repo, map[string]string{".gitattributes": "*.up filter=up\n", "x.up": "pointer\n"})
	stored := gitIn(t, repo, "rev-parse", "HEAD:x.up")
	ws := prepared(t, repo)
	if got := read(t, ws.Path+"/x.up"); got != "pointer\n" {
		t.Errorf("content %q", got)
	}
	if got := gitIn(t, ws.GitDir, "rev-parse", ws.BaseTree+":x.up"); got != stored {
		t.Errorf("blob %s, want %s", got, stored)
	}
}

func TestAURLIsClonedAndNamed(t *testing.T) {
	repo := repository(t)
	home := t.TempDir()
	for _, session := range []string{"one", "two"} {
		ws := prepared(t, "file://"+repo, func(r *workspace.Request) { r.Dirs, r.Session = dirsIn(home), session })
		if got := status(t, ws.Path); got != "" || !strings.HasPrefix(filepath.Base(ws.Path), "project") {
			t.Errorf("%s: %s", ws.Path, got)
		}
	}
}

func TestAnOccupiedWorkspaceIsKept(t *testing.T) {
	repo := repository(t)
	home := t.TempDir()
	write(t, home+"/agent_workspace/project/precious", "mine\n")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
	if filepath.Base(ws.Path) != "project-k3f9" {
		t.Errorf("workspace %s", ws.Path)
	}
	if got := read(t, home+"/agent_workspace/project/precious"); got != "mine\n" {
		t.Errorf("precious: %q", got)
	}
}

func TestSessionsOnTheSameRepositoryStartAtOnce(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "uncommitted\n")
	dirs := dirsIn(t.TempDir())
	made := make(chan *workspace.Workspace)
	sessions := []string{"one", "two", "three", "four"}
	for _, session := range sessions {
		go func() {
			ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: session, Dirs: dirs})
			if err != nil {
				t.Errorf("%s: %v", session, err)
			}
			made <- ws
		}()
	}
	folders := map[string]bool{}
	for range sessions {
		if ws := <-made; ws != nil {
			folders[ws.Path] = true
			if got := status(t, ws.Path); got != " M a.txt" {
				t.Errorf("%s: %q", ws.Path, got)
			}
		}
	}
	if len(folders) != len(sessions) {
		t.Errorf("folders: %v", folders)
	}
}

func TestAnAgentsWorkspaceIsNoRepositoryToRunOn(t *testing.T) {
	home := t.TempDir()
	in := func(r *workspace.Request) { r.Dirs = dirsIn(home) }
	ws := prepared(t, repository(t), in)
	canary := filepath.Join(t.TempDir(), "canary")
	gitIn(t, ws.Path, "config", "filter.evil.clean", "touch "+canary)
	write(t, ws.Path+"/.gitattributes", "* filter=evil\n")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(ws.Path, link))
	linked := t.TempDir()
	write(t, linked+"/.git", "gitdir: "+ws.Path+"/.git\n")
	for _, repo := range []string{ws.Path, ws.Path + "/dir", link, linked} {
		if _, err := prepare(t, repo, in, func(r *workspace.Request) { r.Session = "other" }); err == nil || !strings.Contains(err.Error(), "agent's workspace") {
			t.Errorf("%s: %v", repo, err)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the agent's filter ran")
	}
}

func TestHistoryIsCutWhereAskedTo(t *testing.T) {
	repo := repository(t)
	for _, name := range []string{"1", "2", "3"} {
		commit(t, repo, map[string]string{name: name})
	}
	ws := prepared(t, repo, func(r *workspace.Request) { r.Depth = 2 })
	if got := gitIn(t, ws.Path, "rev-list", "--count", "HEAD"); got != "2" {
		t.Errorf("%s commits", got)
	}
	if len(ws.Notes) != 1 || !strings.Contains(ws.Notes[0], "last 2 commits") {
		t.Errorf("notes: %v", ws.Notes)
	}
}

func TestWhatCannotWorkIsRefusedAndLeavesNothing(t *testing.T) {
	empty := t.TempDir()
	gitIn(t, empty, "init", "-q", "-b", "main")
	write(t, filepath.Join(empty, ".git/refs/heads/main"), strings.Repeat("1", 40)+"\n")
	bare := t.TempDir()
	gitIn(t, bare, "init", "-q", "--bare")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	foreign := t.TempDir()
	must(t, os.Symlink(t.TempDir(), foreign+"/agent_workspace"))
	repo := repository(t)
	for _, c := range []struct {
		name, repo, want string
		change           func(*workspace.Request)
	}{
		{"no repository", t.TempDir(), "is not in a git repository", nil},
		{"a bare repository", bare, "bare repository", nil},
		{"a branch that is broken", empty, "cannot be read", nil},
		{"no such path", "/nonexistent/\x1b[31m", `there is no /nonexistent/\x1b[31m`, nil},
		{"a file", file, "is a file", nil},
		{"inside .git", repo + "/.git", "inside a .git folder", nil},
		{"an unknown branch", repo, "no branch, tag or commit nope", func(r *workspace.Request) { r.Branch = "nope" }},
		{"a branch with a dash", repo, "not the name of a branch", func(r *workspace.Request) { r.Branch = "--upload-pack=x" }},
		{"a glob that is none", repo, "is not a glob", func(r *workspace.Request) { r.Hide = []string{"[a"} }},
		{"a helper as URL", "ext::sh -c date", "not an address", nil},
		{"a scheme that is not allowed", "http://example.org/x", "not an address", nil},
		{"a dash in a URL", "ssh://-oProxyCommand=date/x", "dash", nil},
		{"a password in a URL", "https://me:pw@example.org/x", "contains a password", nil},
		{"a URL that leads nowhere", "file:///nonexistent/x", "cloning file:///nonexistent/x failed", nil},
		{"a symlinked folder for workspaces", repo, "cannot be used", func(r *workspace.Request) { r.Dirs = dirsIn(foreign) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			_, err := prepare(t, c.repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) }, func(r *workspace.Request) {
				if c.change != nil {
					c.change(r)
				}
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(err))
			}
			f, ok := errors.AsType[*fault.Fault](err)
			if !ok || len(f.Hints) == 0 && !strings.Contains(c.name, "dash") && !strings.Contains(c.name, "inside") {
				t.Errorf("no hint: %v", err)
			}
			nothingIn(t, home)
		})
	}
}

// nothingIn checks that no file is left under home but the lock.
func nothingIn(t *testing.T, home string) {
	t.Helper()
	must(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(d.Name(), ".lock") || strings.HasSuffix(path, ".git") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// TestAnUnreadableFileIsNamed needs a user whom file modes bind; root becomes
// one for the length of the test.
func TestAnUnreadableFileIsNamed(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/locked.txt", "x")
	must(t, os.Chmod(repo+"/locked.txt", 0))
	if os.Getuid() == 0 {
		runAsNobody(t, repo)
		return
	}
	home := t.TempDir()
	_, err := prepare(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
	if err == nil || !strings.Contains(err.Error(), "locked.txt cannot be read") || fault.KindOf(err) != fault.Usage {
		t.Fatalf("error: %v", err)
	}
	nothingIn(t, home)
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = []string{"locked.txt"} })
	must(t, workspace.Undo(t.Context(), ws))
}

// runAsNobody runs the calling test again as an unprivileged user.
func runAsNobody(t *testing.T, repo string) {
	t.Helper()
	const nobody = 65534
	exe := filepath.Join(t.TempDir(), "test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(exe, data, 0o755))
	for dir := filepath.Dir(exe); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	tmp := filepath.Join(filepath.Dir(exe), "tmp")
	must(t, os.Mkdir(tmp, 0o777))
	must(t, os.Chmod(tmp, 0o777))
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
	_ = repo
}

func TestTheUsersRepositoryIsOnlyRead(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "changed\n")
	write(t, repo+"/new.txt", "new\n")
	before := times(t, repo)
	ws := prepared(t, repo)
	if got := status(t, ws.Path); got != " M a.txt\n?? new.txt" {
		t.Errorf("status: %q", got)
	}
	if diff := cmp.Diff(before, times(t, repo)); diff != "" {
		t.Errorf("the repository was written (-before +after):\n%s", diff)
	}
}

// times are the change times of everything below dir.
func times(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[path] = info.Sys().(*syscall.Stat_t).Ctim.Nano()
		return err
	}))
	return all
}

func TestRemoveNeverFollowsASymlink(t *testing.T) {
	ws := prepared(t, repository(t))
	outside := t.TempDir()
	write(t, outside+"/precious", "mine\n")
	must(t, os.Symlink(outside, ws.Path+"/link"))
	must(t, os.RemoveAll(ws.Path+"/.git"))
	must(t, os.Symlink(outside, ws.Path+"/.git"))
	must(t, os.MkdirAll(ws.Path+"/d/.aibox-removed-1/x", 0o755))
	must(t, os.MkdirAll(ws.Path+"/.aibox-removed-1/x", 0o755))
	must(t, os.Chmod(ws.Path+"/d", 0))
	must(t, workspace.Remove(t.Context(), ws))
	if got := read(t, outside+"/precious"); got != "mine\n" {
		t.Errorf("precious: %q", got)
	}
	must(t, workspace.Remove(t.Context(), ws))
}
