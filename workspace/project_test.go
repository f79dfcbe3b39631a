package workspace_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

// prepared calls Prepare and checks what must always be true: git inside works, sees the same
// status as the user's, and no inode is shared.
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
