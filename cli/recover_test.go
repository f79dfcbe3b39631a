package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/paths"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/session"
	"aibox/workspace"
)

// A command that is repeated because it seems to have failed would make another branch.
func TestARecoveredBranchIsPrintedEvenIfItCannotBeLogged(t *testing.T) {
	a, out, _ := testApp(t)
	keptSession(t, a, wasRun(settingsOf(t, "", "")))
	dirs, err := paths.Default()
	reviewtest.Must(t, err)
	repo := filepath.Join(dirs.Home, "shop")
	reviewtest.CommitIn(t, repo, map[string]string{"a.txt": "a\n"})
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0dq4f-codex", Dirs: dirs})
	reviewtest.Must(t, err)
	reviewtest.Write(t, filepath.Join(ws.Path, "one.txt"), "one\n")
	set, err := scan.Workspace(t.Context(), ws, scan.Options{})
	reviewtest.Must(t, err)
	_, err = recovery.Save(t.Context(), ws, set, recovery.Discarded)
	reviewtest.Must(t, err)
	reviewtest.Write(t, filepath.Join(dirs.Sessions(), "0dq4f-codex", session.StateFile), `{"phase": "ended", "format": 99}`)

	err = a.execute(t.Context(), []string{"recover", "0dq4f", "--ref", "1", "--branch", "back"})
	if err == nil || !strings.Contains(err.Error(), "the branch was made, but the log of 0dq4f-codex does not say so") || out.String() != "back\n" {
		t.Errorf("it prints %q and fails with %v", out, err)
	}
	a, out, _ = testAppAt(t)
	code := a.perform(t.Context(), []string{"recover", "0dq4f", "--ref", "1", "--branch", "again", "--json"})
	var printed struct {
		Branch string
		Error  struct{ Message string }
	}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil || code == 0 || printed.Branch != "again" || !strings.Contains(printed.Error.Message, "the branch was made") {
		t.Errorf("it exits with %d and prints %s, %v", code, out, err)
	}
}
