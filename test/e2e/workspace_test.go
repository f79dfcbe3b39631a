package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The agent has configured its git to run a command whenever a program asks for the status
// of the workspace.
const trapped = `git config core.fsmonitor "touch canary; cat" && echo two > a.txt && echo ready && exec sleep 600`

func TestAWorkspaceIsOpenedInASandboxWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n", ".env": "hidden\n"})
	id := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", trapped)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	ws := m.record(id).State.Workspace.Path

	if o := m.aibox(0, "workspace", id, "--", "git", "status", "--porcelain"); o.stdout != " M a.txt\n" {
		t.Errorf("the status is\n%s", o)
	}
	if o := m.aibox(0, "workspace", id, "--", "sh", "-c", "dmesg | grep -i gvisor; git log --all --format=%H -- .env; echo kept > new.txt"); !strings.Contains(o.stdout, "gVisor") || strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("in the sandbox:\n%s", o)
	}
	shell := m.onTerminal("workspace", id)
	shell.awaitShown("closes it")
	shell.typed("git diff | cat; echo in $PWD $((6*7))\r")
	shell.awaitShown(`\+two`)
	shell.awaitShown("(?m)in /workspace 42 *$")
	shell.typed("exit 3\r")
	shell.ends(0)
	left := m.onTerminal("workspace", id)
	left.awaitShown("closes it")
	left.typed("\x10\x11")
	left.ends(0)
	if exists(filepath.Join(ws, "new.txt")) || exists(filepath.Join(ws, "canary")) {
		t.Error("what was done in a copy came back")
	}

	for command, says := range map[string]string{
		"false": "false ended with exit status 1", "no-such-program": "there is no no-such-program in the sandbox",
	} {
		if o := m.aibox(1, "workspace", id, "--", command); !strings.Contains(o.stderr, says) {
			t.Errorf("%s prints\n%s", command, o)
		}
	}
	for _, args := range [][]string{{"workspace"}, {"workspace", id, "git"}, {"workspace", id}} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, "aibox workspace") {
			t.Errorf("%v prints\n%s", args, o)
		}
	}
	if o := m.aibox(0, "ls"); strings.Contains(o.stdout, "open-") {
		t.Errorf("the list has what nobody started:\n%s", o)
	}
	m.aibox(0, "stop", id)
	m.nothingOpen("after the commands")
	m.aibox(0, "discard", id)
	if o := m.aibox(2, "workspace", id, "--", "true"); !strings.Contains(o.stderr, "is gone") {
		t.Errorf("a workspace that is gone: %s", o)
	}
}

// nothingOpen checks that no look at a workspace has left anything, within a while that
// is given to a sandbox to end.
func (m *machine) nothingOpen(when string) {
	m.t.Helper()
	eventually(m.t, hung, "nothing is left "+when, func() bool {
		return len(glob(m.t, m.sessions()+"/open-*")) == 0 && len(glob(m.t, m.home+"/agent_workspace/*-open-*")) == 0 && len(m.containers()) == 0
	})
}

// A sandbox that shows a workspace lives no longer than the command that opened it, and a
// crash leaves nothing for good.
func TestTheSandboxOfAnOpenedWorkspaceEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--", "sh", "-c", "echo x > x"))
	looks := []string{"workspace", r.ID, "--", "sh", "-c", "echo looking; exec sleep 600"}
	if code := m.start(looks...).interrupted("looking"); code != 130 {
		t.Errorf("ctrl-c exits with %d", code)
	}
	m.nothingOpen("after ctrl-c")
	killed := m.start(looks...)
	killed.stdout.await(t, "looking")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-killed.done
	eventually(t, hung, "the sandbox ends", func() bool { return len(m.containers()) == 0 })
	m.aibox(0, "ls")
	m.nothingOpen("after kill -9 and another command")
	if o := m.aibox(0, "verify", r.ID, "--verify", "test -e x"); o.code != 0 {
		t.Errorf("the work is not what it was: %s", o)
	}
}

// booby is a trap in the agent's workspace for git and other programs: for each name, a
// program that creates the canary NAME in the folder given as its first argument.
const booby = `
set -e
spring() { mkdir -p "$1"; printf '#!/bin/sh\necho caught > %s/%s\ncat 2>/dev/null\n' "$canaries" "$2" > "$1/spring"; chmod +x "$1/spring"; }
make() {
  git init -q "$1"; spring "$1" "$1"
  git -C "$1" config user.name x; git -C "$1" config user.email x@example.org
  echo x > "$1/file"; git -C "$1" add file; git -C "$1" commit -qm x
}
canaries=$1
make monitor;    git -C monitor config core.fsmonitor "$PWD/monitor/spring"
make filter;     git -C filter config filter.x.clean "$PWD/filter/spring"; echo '* filter=x' > filter/.git/info/attributes; echo y > filter/file
make hook;       cp hook/spring hook/.git/hooks/pre-commit
make textconv;   git -C textconv config diff.x.textconv "$PWD/textconv/spring"; echo '* diff=x' > textconv/.git/info/attributes; echo y > textconv/file
make alias;      git -C alias config alias.st "!$PWD/alias/spring"
mkdir -p bare/objects bare/refs bare/work; echo 'ref: refs/heads/main' > bare/HEAD; spring bare bare
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = work\n\tfsmonitor = %s\n' "$PWD/bare/spring" > bare/config
spring . top;    git config core.fsmonitor "$PWD/spring"; echo two > a.txt
spring script script
printf 'all:\n\t./script/spring\n' > Makefile
`

// sprung are the names of the canaries, each with commands that are typed there.
var sprung = map[string]string{
	"monitor":  "git add -A; git status; git diff; git commit -qam x; git describe --always --dirty",
	"filter":   "git add -A; git status; git diff --submodule=diff; git -C filter status",
	"hook":     "cd hook && git commit -q --allow-empty -m y; git stash",
	"textconv": "cd textconv && git diff; git log -p -1",
	"alias":    "cd alias && git st",
	"bare":     "cd bare && git status; git -C . diff",
	"top":      "git status; git diff; git stash; git submodule status",
	"script":   "./script/spring < /dev/null",
}

// Nothing that is typed in a workspace runs what the agent wrote with the rights of the
// user: not git, wherever it is called and whatever it goes into, nor the agent's own
// programs.
func TestCommandsInAWorkspaceRunNoProgramOfTheAgentOnTheHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	canaries := filepath.Join(m.home, "canaries")
	if err := os.Mkdir(canaries, 0o755); err != nil {
		t.Fatal(err)
	}
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", booby, "sh", canaries))
	ws := m.record(r.ID).State.Workspace.Path
	// The programs are named by the paths that they have on the host, as the agent may guess.
	script := ""
	for _, name := range slices.Sorted(maps.Keys(sprung)) {
		for _, clean := range []string{"", "unset GIT_DIR GIT_WORK_TREE; "} {
			script += "(" + clean + sprung[name] + ") </dev/null 2>&1\n"
		}
	}
	m.finish(m.inside(ws, "sh", "-c", "find . \\( -path '*/.git/config' -o -path './bare/config' \\) | xargs sed -i 's,/workspace,"+ws+",'"))
	o := m.exec(aibox, "workspace", r.ID, "--", "sh", "-c", script+"echo all typed")
	if !strings.Contains(o.stdout, "all typed") {
		t.Errorf("the commands were not run:\n%s", o)
	}
	for name := range sprung {
		if exists(filepath.Join(canaries, name)) {
			t.Errorf("%s: what the agent wrote ran on the host", name)
		}
	}
	_ = os.RemoveAll(canaries)
	if err := os.Mkdir(canaries, 0o755); err != nil {
		t.Fatal(err)
	}
	m.finish(m.inside(ws, "sh", "-c", script))
	for name := range sprung {
		if !exists(filepath.Join(canaries, name)) {
			t.Errorf("%s: it does not run on the host without aibox either, so the test proves nothing", name)
		}
	}
}

// inside is a program of the user's in a folder.
func (m *machine) inside(dir, name string, args ...string) *exec.Cmd {
	cmd := m.cmd(name, args...)
	cmd.Dir = dir
	return cmd
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
