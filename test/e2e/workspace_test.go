package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The agent has told its own git to run a command whenever somebody asks for the
// status of the workspace.
const trapped = `git config core.fsmonitor "touch canary; cat" && echo two > a.txt && echo ready && exec sleep 600`

func TestAWorkspaceIsOpenedWithoutTheAgentsGit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	id := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", trapped)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	canary := filepath.Join(m.record(id).State.Workspace.Path, "canary")

	if o := m.aibox(0, "workspace", id, "--", "git", "status", "--porcelain"); o.stdout != " M a.txt\n" {
		t.Errorf("the status is\n%s", o)
	}
	shell := m.onTerminal("workspace", id)
	shell.awaitShown("outside the box")
	shell.typed("git diff | cat; echo in $PWD for $AIBOX_SESSION\r")
	shell.awaitShown(`\+two`)
	shell.awaitShown("(?m)for " + id + " *$")
	shell.typed("exit 3\r")
	shell.ends(0)
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the agent's command ran")
	}
	if m.exec("git", "-C", filepath.Dir(canary), "status"); !exists(canary) {
		t.Error("the agent's command does not run in its own repository either")
	}

	for command, says := range map[string]string{
		"false": "false ended with exit status 1", "no-such-program": "no-such-program cannot be started",
	} {
		code := 1
		if strings.HasPrefix(command, "no-") {
			code = 2
		}
		if o := m.aibox(code, "workspace", id, "--", command); !strings.Contains(o.stderr, says) {
			t.Errorf("%s says\n%s", command, o)
		}
	}
	for _, args := range [][]string{{"workspace"}, {"workspace", id, "git"}, {"workspace", id}} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, "aibox workspace") {
			t.Errorf("%v says\n%s", args, o)
		}
	}
	m.aibox(0, "stop", id)
	m.aibox(0, "discard", id)
	if o := m.aibox(2, "workspace", id, "--", "true"); !strings.Contains(o.stderr, "is gone") {
		t.Errorf("a workspace that is gone: %s", o)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
