package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aibox/internal/paths"
	"aibox/workspace"
)

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func dirsIn(home string) paths.Dirs {
	return paths.Dirs{
		Home: home, Config: home + "/.config/aibox", State: home + "/.local/state/aibox",
		Data: home + "/.local/share/aibox", Cache: home + "/.cache/aibox", Workspace: home + "/agent_workspace",
	}
}

func repository(t testing.TB) string {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, repo, "init", "-q", "-b", "main")
	write(t, repo+"/a.txt", "one\ntwo\n")
	write(t, repo+"/dir/b.txt", "bee\n")
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-qm", "start")
	return repo
}

func TestThePreparedWorkspaceIsCleanToGit(t *testing.T) {
	repo := repository(t)
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "k3f9", Dirs: dirsIn(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	if out := gitIn(t, ws.Path, "status", "--porcelain"); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	gitIn(t, ws.Path, "fsck", "--strict")
	gitIn(t, ws.Path, "log")
	t.Logf("%+v", ws)
	if err := workspace.Undo(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}
