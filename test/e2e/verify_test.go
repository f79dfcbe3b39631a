package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// verification is what came of running a command on the work.
type verification struct {
	Number   int       `json:"number"`
	Command  string    `json:"command"`
	Tree     string    `json:"tree"`
	Begun    time.Time `json:"begun"`
	Seconds  float64   `json:"seconds"`
	ExitCode int       `json:"exit_code"`
	Fault    *failure  `json:"fault"`
	Lines    []string  `json:"lines"`
	Bytes    int64     `json:"bytes"`
	Notes    []string  `json:"notes"`
}

// verifier are the ids of the sessions that verify, the ended ones too.
func (m *machine) verifiers() []string {
	var ids []string
	for _, r := range m.stored() {
		if strings.HasPrefix(r.ID, "verify-") {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// archived returns the id of the one removed session whose id begins with prefix and whose
// audit log is kept.
func (m *machine) archived(prefix string) string {
	m.t.Helper()
	logs := glob(m.t, m.home+"/.local/state/aibox/audit/"+prefix+"*.jsonl")
	if len(logs) != 1 {
		m.t.Fatalf("the logs of removed sessions are %q", logs)
	}
	return strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl")
}

// copies are the folders of verifications among the workspaces.
func (m *machine) copies() []string { return glob(m.t, m.home+"/agent_workspace/*-verify-*") }

// nothingVerifies checks that a verification has left nothing, within a while that
// is given to a sandbox to end.
func (m *machine) nothingVerifies(when string) {
	m.t.Helper()
	eventually(m.t, hung, "nothing is left "+when, func() bool {
		return len(m.verifiers()) == 0 && len(m.copies()) == 0 && len(m.containers()) == 0
	})
}

func TestWorkIsVerifiedInASeparateSandboxWithoutANetwork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{".gitignore": "node_modules/\nbuilt\n", "a.txt": "a\n"})
	check := "set -e; dmesg | grep -i gvisor; cat node_modules/m; cat a.txt; echo x > built; echo y > output.txt; echo z > a.txt; " +
		"if (exec 3<>/dev/tcp/10.200.200.1/11434) 2>/dev/null; then exit 7; fi; if getent hosts example.com; then exit 8; fi"
	r := m.ended(m.aibox(0, "run", "shell", "--network", "local", "--inference", "scripted", "--repo", repo, "--json",
		"--verify", "bash -c '"+check+"'", "--", "sh", "-c", "echo b > a.txt; mkdir node_modules; echo installed > node_modules/m"))
	v := r.result().Verification
	if v == nil || v.ExitCode != 0 || v.Fault != nil || v.Tree != r.result().Changes.Tree {
		t.Fatalf("the verification is %+v", v)
	}
	if said := strings.Join(v.Lines, "\n"); !strings.Contains(strings.ToLower(said), "gvisor") || !strings.HasSuffix(said, "installed\nb") {
		t.Errorf("it printed %q", v.Lines)
	}
	m.nothingVerifies("at the end")
	if len(r.Files) != 1 || r.Files[0].Path != "a.txt" {
		t.Errorf("the change set is %+v", r.Files)
	}
	ws := m.record(r.ID).State.Workspace.Path
	for _, name := range []string{"built", "output.txt"} {
		if _, err := os.Lstat(filepath.Join(ws, name)); err == nil {
			t.Errorf("%s came into the agent's workspace", name)
		}
	}
	if o := m.aibox(0, "diff", r.ID); strings.Contains(o.stdout, "output.txt") || strings.Contains(o.stdout, "+z") {
		t.Errorf("the diff holds what the verification did:\n%s", o)
	}
	if o := m.aibox(0, "logs", r.ID); !strings.Contains(o.stderr, "verifying: bash -c") || !strings.Contains(o.stdout, "installed") {
		t.Errorf("the record does not hold the verification:\n%s", o)
	}
	// The log of the verification outlives it.
	id := m.archived("verify-")
	if log := m.aibox(0, "audit", id).stdout; !strings.Contains(log, "sandbox.started") || !strings.Contains(log, "session.removed") {
		t.Errorf("the log of %s is\n%s", id, log)
	}
	m.aibox(0, "audit", "--verify")
	if o := m.aibox(0, "verify", r.ID, "--show"); !strings.Contains(o.stderr, "passed") || !strings.Contains(o.stdout, "installed") {
		t.Errorf("it is shown as\n%s", o)
	}
}

func TestWorkThatFailsItsVerificationIsNotDelivered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "a\n"})
	r := m.ended(m.aibox(1, "run", "shell", "--network", "none", "--repo", repo, "--accept", "branch", "--json",
		"--verify", "echo checking; grep good a.txt", "--", "sh", "-c", "echo bad > a.txt"))
	v, failed := r.result().Verification, r.result().Fault
	if v.ExitCode != 1 || v.Fault == nil || r.Accepted != nil || r.result().ExitCode != 0 {
		t.Fatalf("the verification is %+v, accepted %+v", v, r.Accepted)
	}
	if failed == nil || failed.ExitCode != 1 || !strings.Contains(failed.Message, "exit code 1") || !strings.Contains(strings.Join(failed.Hints, "\n"), "--show") {
		t.Errorf("the session's fault is %+v", failed)
	}
	o := m.aibox(1, "accept", r.ID)
	if !strings.Contains(o.stderr, "nothing was accepted") || !strings.Contains(o.stderr, "--no-verify") || !strings.Contains(o.stderr, "--show") {
		t.Errorf("accept prints\n%s", o)
	}
	if branches := m.git(repo, "branch", "--list", "aibox/*"); branches != "" {
		t.Errorf("there are branches: %s", branches)
	}
	// The user fixes it in the workspace, which changes the tree.
	m.write(filepath.Join(m.record(r.ID).State.Workspace.Path, "a.txt"), "good\n")
	m.aibox(0, "accept", r.ID)
	if branches := m.git(repo, "branch", "--list", "aibox/*"); !strings.Contains(branches, r.ID) {
		t.Errorf("the branches are %q", branches)
	}
	m.nothingVerifies("after an accept")
}

// All of the agent's work passes, but a part of it does not: only the delivered part
// counts.
func TestThePartThatIsAcceptedIsVerified(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "a\n"})
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json",
		"--verify", "grep new a.txt && test -e helper.txt", "--", "sh", "-c", "echo new > a.txt; echo > helper.txt"))
	m.aibox(0, "reject", r.ID, "--files", "helper.txt")
	if o := m.aibox(1, "accept", r.ID); !strings.Contains(o.stderr, "nothing was accepted") {
		t.Errorf("accept prints\n%s", o)
	}
	branch := strings.TrimSpace(m.aibox(0, "accept", "--no-verify", r.ID).stdout)
	if i := strings.IndexByte(branch, '\n'); i > 0 {
		branch = branch[:i]
	}
	if files := m.git(repo, "diff", "--name-only", "HEAD", branch); files != "a.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
	m.nothingVerifies("at the end")
}

func TestAVerificationThatTakesTooLongIsEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(5, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json",
		"--verify", "echo begun; sleep 100", "--verify-timeout", "1s", "--", "sh", "-c", "echo b > a.txt"))
	if v := r.result().Verification; v.Fault == nil || v.Fault.Kind != "limit" || !strings.Contains(v.Fault.Message, "after 1s") || !slices.Contains(v.Lines, "begun") {
		t.Errorf("the verification is %+v", v)
	}
	m.nothingVerifies("after the time limit")
	if o := m.aibox(0, "verify", r.ID, "--verify", "cat a.txt"); o.stdout != "b\n" {
		t.Errorf("another command prints\n%s", o)
	}
}

func TestCtrlCEndsAVerification(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	run := m.start("run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--verify", "echo begun; exec sleep 100",
		"--", "sh", "-c", "echo b > a.txt")
	if code := run.interrupted("begun"); code != 130 || !strings.Contains(run.stderr.String(), "not verified") {
		t.Errorf("the run exits with %d and prints\n%s", code, run.stderr.String())
	}
	m.nothingVerifies("after ctrl-c")
	id := m.stored()[0].ID
	verify := m.start("verify", id)
	if code := verify.interrupted("begun"); code != 130 || !strings.Contains(verify.stderr.String(), "was stopped") {
		t.Errorf("verify exits with %d and prints\n%s", code, verify.stderr.String())
	}
	m.nothingVerifies("after ctrl-c of verify")
	m.aibox(0, "diff", id)
	m.aibox(0, "discard", id)

	stopped := m.detached("shell", "--network", "none", "--repo", m.repo("q", nil), "--verify", "echo begun; sleep 100", "--", "sh", "-c", "echo b > a.txt")
	m.start("logs", "-f", stopped).stdout.await(t, "begun")
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "verifying") || strings.Contains(o.stdout, "verify-") {
		t.Errorf("the list is\n%s", o)
	}
	if o := m.aibox(0, "ls", "--all"); !strings.Contains(o.stdout, "(verifies "+stopped+")") {
		t.Errorf("the whole list is\n%s", o)
	}
	m.aibox(0, "stop", stopped)
	if r := m.record(stopped).State.Result; r.Fault == nil || r.Fault.ExitCode != 130 || r.ExitCode != 0 || r.Verification == nil {
		t.Errorf("stopped, the result is %+v", r)
	}
	m.nothingVerifies("after a stop")
}

// Whichever process is killed, nothing of the verification is left, and the result explains
// what happened.
func TestAVerificationLeavesNothingWhicheverProcessIsKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	verifying := func() (parent, child record) {
		t.Helper()
		eventually(t, hung, "the verification runs", func() bool {
			for _, r := range m.stored() {
				switch {
				case strings.HasPrefix(r.ID, "verify-") && r.State.Phase == "running":
					child = r
				case r.State.Phase == "verifying":
					parent = r
				}
			}
			return parent.ID != "" && child.ID != ""
		})
		return parent, child
	}
	args := []string{"run", "shell", "--network", "none", "--repo", repo, "--verify", "echo begun; sleep 100", "--", "sh", "-c", "echo b > a.txt"}

	t.Log("the supervisor of the session")
	run := m.start(args...)
	run.stdout.await(t, "begun")
	parent, child := verifying()
	kill(t, parent.State.Supervisor)
	run.ends(1)
	m.nothingVerifies("although no command was given since")
	if child.State.Sandbox.Alive() {
		t.Error("the sandbox is alive")
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stderr, "cleaned up after "+parent.ID) {
		t.Errorf("the next command does not repair:\n%s", o)
	}
	o := m.aibox(0, "verify", parent.ID, "--show")
	if !strings.Contains(o.stderr, "supervisor died") {
		t.Errorf("the result prints\n%s", o)
	}
	if r := m.record(parent.ID).State.Result; r.ExitCode != 0 || !r.Changed || r.Fault == nil {
		t.Errorf("the agent's own result is lost: %+v", r)
	}

	t.Log("the supervisor of the verification")
	run = m.start(args...)
	run.stdout.await(t, "begun")
	parent, child = verifying()
	kill(t, child.State.Supervisor)
	if code := run.wait(); code != 1 || !strings.Contains(run.stderr.String(), "could not be run") {
		t.Errorf("the run exits with %d and prints\n%s", code, run.stderr.String())
	}
	m.nothingVerifies("after the verification's supervisor died")

	t.Log("a command that waits for one")
	verify := m.start("verify", parent.ID)
	verify.stdout.await(t, "begun")
	verify.kill()
	m.nothingVerifies("after its client died")

	t.Log("all of them")
	run = m.start(args...)
	run.stdout.await(t, "begun")
	parent, child = verifying()
	kill(t, parent.State.Supervisor)
	kill(t, child.State.Supervisor)
	run.wait()
	child.sandboxEnds(t)
	m.aibox(0, "ls")
	m.nothingVerifies("after the next command")
}

// The work under test is hostile, and so is what runs it.
func TestAHostileMakefileReachesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	secret, canary := filepath.Join(m.home, "secret"), filepath.Join(m.home, "canary")
	m.write(secret, "the user's own")
	repo := m.repo("p", map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"})
	hostile := strings.NewReplacer("HOME", m.home).Replace(`test:
	-cat HOME/secret link; cat /proc/1/root/HOME/secret
	-echo owned > link; echo owned > HOME/canary; echo owned > sub/canary; echo owned > ../canary
	-rm -rf HOME/agent_workspace/* /workspace/* /workspace/.git
	-mount -o bind / /mnt; chroot /proc/1/root echo out; unshare -rm true
	-ls -la /var/run/docker.sock /run/docker.sock
	-(setsid sleep 1000 &) ; (trap "" TERM; sleep 1000) & true
	-yes | head -c 3000000
	-printf '\033]52;c;b3duZWQ=\a\033]0;title\a\n'
	@echo end
`)
	m.write(filepath.Join(m.home, "hostile.mk"), hostile)
	script := "cp /workspace/.git/config c; rm -rf sub; ln -s " + canary + " link; ln -s " + m.home + " sub; printf '%s' \"$MK\" > Makefile"
	cmd := m.cmd(aibox, "run", "shell", "--network", "none", "--repo", repo, "--env", "MK", "--verify", "make test; echo made; test ! -e link",
		"--json", "--", "sh", "-c", script)
	cmd.Env = append(cmd.Env, "MK="+hostile)
	o := m.finish(cmd)
	r := m.ended(o)
	v := r.result().Verification
	if v == nil || v.Bytes == 0 {
		t.Fatalf("it was not run: %+v\n%s", v, o)
	}
	if bad := harmful(o.stderr); bad != "" {
		t.Errorf("the terminal gets %q", bad)
	}
	for _, path := range []string{canary, m.home + "/agent_workspace/canary", m.home + "/agent_workspace/p/canary"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	if m.read(secret) != "the user's own" || strings.Contains(o.stderr, "the user's own") {
		t.Error("the user's file was read")
	}
	ws := m.record(r.ID).State.Workspace.Path
	if _, err := os.Lstat(filepath.Join(ws, ".git", "config")); err != nil || m.read(ws, "a.txt") != "a\n" {
		t.Errorf("the agent's workspace was reached: %v", err)
	}
	info, err := os.Stat(glob(t, filepath.Join(m.sessions(), r.ID, "verification-*.raw"))[0])
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("the output that is kept is too large: %v", info)
	}
	m.nothingVerifies("at the end")
}

func TestTheUsersSettingsMayVerifyAndARepositorysMayNot(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "verify = \"echo from settings\"\n")
	repo := m.repo("p", nil)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo b > a.txt"))
	if v := r.result().Verification; v == nil || v.Command != "echo from settings" {
		t.Errorf("the verification is %+v", v)
	}
	none := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "true"))
	if none.result().Verification != nil || !strings.Contains(strings.Join(none.result().Notes, "\n"), "nothing was changed") {
		t.Errorf("without changes it is %+v with %q", none.result().Verification, none.result().Notes)
	}
	off := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--verify", "", "--json", "--", "sh", "-c", "echo b > a.txt"))
	if off.result().Verification != nil {
		t.Errorf("--verify '' verifies all the same: %+v", off.result().Verification)
	}
	m.write(filepath.Join(repo, ".aibox.toml"), "verify = \"echo from the repository\"\n")
	if o := m.aibox(2, "run", "shell", "--network", "none", "--repo", repo, "--", "true"); !strings.Contains(o.stderr, ".aibox.toml:1") {
		t.Errorf("the repository's setting is met with\n%s", o)
	}
}

func TestAnInteractiveSessionIsVerifiedWhenItsAgentHasEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal("run", "shell", "-i", "--network", "none", "--repo", m.repo("p", nil),
		"--verify", "echo check''ing; until test -e go; do sleep 0.1; done & cat a.txt; exit 3")
	s.awaitShown(`workspace#`)
	s.typed("echo b > a.txt; exit\r")
	s.ends(1)
	s.restored()
	text := s.stdout.String()
	for _, want := range []string{"verifying: ", "checking", "ended with exit code 3", "a.txt"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the terminal:\n%s", want, text)
		}
	}
	m.nothingVerifies("at the end")
	again := m.aibox(1, "attach", m.stored()[0].ID)
	if !strings.Contains(again.stderr, "exit code 3") {
		t.Errorf("attach prints\n%s", again)
	}
}

// Recorded work can be verified long after its workspace was removed.
func TestWorkIsVerifiedWithoutItsWorkspace(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{".gitignore": "node_modules/\n", "sub/a.txt": "a\n", ".env": "SECRET=1\n"})
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		"echo b > sub/a.txt; mkdir node_modules; echo > node_modules/m"))
	m.aibox(0, "discard", r.ID)
	o := m.aibox(0, "verify", r.ID, "--verify", "cat sub/a.txt; ls -A")
	if o.stdout != "b\n.gitignore\nsub\n" || !strings.Contains(o.stderr, "installed packages, are missing") {
		t.Errorf("the output is\n%s", o)
	}
	m.nothingVerifies("at the end")
}
