package workspace_test

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/unprivileged"
	"aibox/workspace"
)

func TestARunStartsInTheCurrentFolder(t *testing.T) {
	repo := repository(t)
	must(t, os.MkdirAll(repo+"/new/empty", 0o755))
	must(t, os.Symlink(repo+"/dir", t.TempDir()+"/link"))
	for folder, want := range map[string]string{"": "", "/dir": "dir", "/new/empty": "new/empty", "/dir/../dir": "dir"} {
		ws := prepared(t, repo+folder)
		if ws.Start != want || ws.StartFolder() != want || len(ws.Notes) != 0 {
			t.Errorf("from %q it starts in %q (%q), notes %v", folder, ws.Start, ws.StartFolder(), ws.Notes)
		}
	}
	ws := prepared(t, repo+"/dir")
	must(t, os.RemoveAll(ws.Path+"/dir"))
	must(t, os.Symlink("/etc", ws.Path+"/dir"))
	if got := ws.StartFolder(); got != "" {
		t.Errorf("behind a symlink of the agent's it starts in %q", got)
	}
}

func TestARunInAMissingFolderStartsAtTheTop(t *testing.T) {
	repo := repository(t)
	must(t, os.MkdirAll(repo+"/new", 0o755))
	for _, c := range []struct {
		why    string
		change func(*workspace.Request)
	}{
		{"is not in that commit", func(r *workspace.Request) { r.Clean = true }},
		{"is hidden from the agent", func(r *workspace.Request) { r.Hide = []string{"new"} }},
		{"is hidden from the agent", func(r *workspace.Request) { r.Hide = []string{"new/"} }},
	} {
		ws := prepared(t, repo+"/new", c.change)
		if ws.Start != "" || len(ws.Notes) != 1 || !strings.Contains(ws.Notes[0], "starts at the top, because new "+c.why) {
			t.Errorf("%s: starts in %q, notes %q", c.why, ws.Start, ws.Notes)
		}
		if _, err := os.Lstat(ws.Path + "/new"); err == nil {
			t.Errorf("%s: the folder is made", c.why)
		}
	}
}

// TestAFolderThatCannotBeReadIsNamed needs an unprivileged user; root switches to one
// during the test.
func TestAFolderThatCannotBeReadIsNamed(t *testing.T) {
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	repo := repository(t)
	write(t, repo+"/new/locked/mine.txt", "x")
	must(t, os.Chmod(repo+"/new/locked", 0))
	t.Cleanup(func() { _ = os.Chmod(repo+"/new/locked", 0o755) })
	ws := prepared(t, repo)
	if len(ws.Notes) != 1 || ws.Notes[0] != "the folder new/locked/ cannot be read (permission denied), so its files are left out" {
		t.Errorf("notes %q", ws.Notes)
	}
	must(t, os.Chmod(repo+"/dir", 0))
	t.Cleanup(func() { _ = os.Chmod(repo+"/dir", 0o755) })
	_, err := prepare(t, repo)
	if err == nil || !strings.Contains(err.Error(), "the folder dir, which your repository tracks, cannot be read") {
		t.Fatalf("error %v", err)
	}
}
