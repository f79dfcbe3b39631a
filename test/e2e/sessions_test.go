package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The stubborn agent ignores what it is asked and leaves children that do so, too.
const stubborn = `trap '' TERM INT HUP
(trap '' TERM INT HUP; setsid sh -c 'trap "" TERM; while :; do sleep 1; done') &
echo work > work.txt; echo ready; while :; do sleep 1; done`

func TestAnAgentThatIgnoresSignalsIsStoppedWithItsChildren(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", stubborn)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	o := m.aibox(0, "stop", id)
	if o.took > time.Minute {
		t.Errorf("stopping took %v", o.took)
	}
	watcher.ends(130)
	r := m.record(id)
	if r.State.Sandbox.Alive() {
		t.Error("the sandbox still runs")
	}
	if f := r.State.Result.Fault; f == nil || f.Kind != "interrupted" || !r.State.Result.Changed {
		t.Errorf("the result is %+v", r.State.Result)
	}
	m.aibox(0, "stop", id) // again is no error
}

// A start can take long, because Docker does not answer or a large repository is copied.
func TestAStopEndsAStartAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo, tools := m.repo("p", nil), t.TempDir()
	m.write(filepath.Join(tools, "git"), "#!/bin/sh\nPATH='"+os.Getenv("PATH")+"'\ncase \"$*\" in *pack-objects*) exec sleep 1000;; esac\nexec git \"$@\"\n")
	m.exec("chmod", "+x", filepath.Join(tools, "git"))
	m.env = append(m.env, "PATH="+tools+":"+os.Getenv("PATH"))
	run := m.start("run", "shell", "--network", "none", "--repo", repo, "--", "true")
	var socket string
	eventually(t, limit, "the session can be stopped", func() bool {
		found, _ := filepath.Glob(filepath.Join(m.sessions(), "*", "control.sock"))
		socket = strings.Join(found, "")
		return socket != ""
	})
	id := filepath.Base(filepath.Dir(socket))
	path := m.record(id).State.Workspace.Path
	if o := m.aibox(0, "stop", id); o.stdout != id+"\n" {
		t.Errorf("stop printed %q", o.stdout)
	}
	run.ends(130)
	if text := run.stderr.String(); !strings.Contains(text, "stopped by the user") {
		t.Errorf("the run does not name the reason:\n%s", text)
	}
	if o := m.aibox(0, "ls", "--json"); strings.TrimSpace(o.stdout) != "[]" || len(glob(t, path)) != 0 {
		t.Errorf("something is left:\n%s\n%q", o, glob(t, path))
	}
}

func TestTheTimeLimitEndsAStubbornAgent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(5, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--timeout", "1s", "--json", "--", "sh", "-c", stubborn)
	r := m.ended(o)
	if f := r.result().Fault; f == nil || f.Kind != "limit" || f.ExitCode != 5 || !r.result().Changed {
		t.Errorf("the result is %+v", r.result())
	}
	if r.result().Seconds > 8 {
		t.Errorf("a limit of 1 s took %.1f s", r.result().Seconds)
	}
}

func TestChildrenThatAnAgentLeavesBehindEndWithIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--", "sh", "-c",
		`setsid sh -c 'trap "" TERM HUP; while :; do echo x >> ticks; sleep 0.05; done' & until test -s ticks; do sleep 0.05; done`))
	if !r.result().Left {
		t.Error("that processes were left is not in the result")
	}
	ws := m.record(r.ID).State.Workspace.Path
	if now := m.read(ws, "ticks"); int64(len(now)) != r.Files[0].Size {
		t.Errorf("the change set has %d bytes, the file %d: a process continued writing", r.Files[0].Size, len(now))
	}
}

// A second terminal sees everything from the beginning, and leaves without harm.
func TestASessionIsFollowedFromASecondTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script := `echo first; echo oops >&2; until test -e go; do sleep 0.05; done; echo last; exit 3`
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", script)
	first, second := m.start("attach", id[:6]), m.start("logs", "-f", id)
	first.stdout.await(t, "first")
	first.stderr.await(t, "oops")
	second.stdout.await(t, "first")
	if code := m.start("attach", id).interrupted("first"); code != 130 {
		t.Errorf("ctrl-c while watching exits with %d", code)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stderr, "nothing was changed") || !strings.Contains(o.stderr, "changes so far") {
		t.Errorf("diff prints:\n%s", o)
	}
	m.write(filepath.Join(m.record(id).State.Workspace.Path, "new.txt"), "so far\n") // as the agent does
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+so far") || !strings.Contains(o.stderr, "changes so far") {
		t.Errorf("while it runs, diff prints:\n%s", o)
	}
	for _, args := range [][]string{{"accept", id}, {"discard", id}, {"rm", id}, {"rm", "-f", id}} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, "still running") {
			t.Errorf("%q says:\n%s", args, o)
		}
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "running") {
		t.Errorf("it is not listed as running:\n%s", o)
	}
	m.write(filepath.Join(m.record(id).State.Workspace.Path, "go"), "")
	if code := first.wait(); code != 1 || !strings.HasSuffix(first.stdout.String(), "last\n") {
		t.Errorf("attach ends with %d and %q", code, first.stdout.String())
	}
	if code := second.wait(); code != 0 || second.stdout.String() != "first\nlast\n" {
		t.Errorf("logs -f ends with %d and %q", code, second.stdout.String())
	}
	if o := m.aibox(0, "logs", id); o.stdout != "first\nlast\n" || o.stderr != "oops\n" {
		t.Errorf("logs prints\n%s", o)
	}
}

// interrupted sends ctrl-c once text was printed and returns the exit code.
func (b *background) interrupted(text string) int {
	b.t.Helper()
	b.stdout.await(b.t, text)
	_ = b.Process.Signal(interrupt)
	return b.wait()
}

func TestTwoSessionsOnOneRepositoryDoNotMeet(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	both := func(name string) string {
		return m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c",
			"echo "+name+" > mine.txt; echo ready; until test -e go; do sleep 0.05; done; ls")
	}
	a, b := both("a"), both("b")
	wsA, wsB := m.record(a).State.Workspace.Path, m.record(b).State.Workspace.Path
	if wsA == wsB || filepath.Base(wsA) != "p" || !strings.HasPrefix(filepath.Base(wsB), "p-") {
		t.Errorf("the workspaces are %s and %s", wsA, wsB)
	}
	for id, ws := range map[string]string{a: wsA, b: wsB} {
		m.write(filepath.Join(ws, "go"), "")
		if o := m.aibox(0, "attach", id); !strings.Contains(o.stdout, "mine.txt") {
			t.Errorf("attach prints\n%s", o)
		}
	}
	branchA := strings.TrimSpace(m.aibox(0, "accept", a).stdout)
	branchB := strings.TrimSpace(m.aibox(0, "accept", b, "--branch", "work/b", "-m", "Work of b").stdout)
	if m.git(repo, "show", branchA+":mine.txt") != "a\n" || m.git(repo, "show", branchB+":mine.txt") != "b\n" || branchB != "work/b" {
		t.Errorf("the branches are %s and %s", branchA, branchB)
	}
}

// Accepting changes only refs and objects, unreviewed work is not removed, and discarded
// work can be recovered.
func TestChangesAreAcceptedDiscardedAndRecoveredWithoutLoss(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n"})
	m.write(filepath.Join(repo, "untracked.txt"), "mine\n")
	work := func() string {
		return m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
			"echo two > a.txt; mkdir d; echo new > d/new.txt; chmod +x d/new.txt")).ID
	}
	id := work()
	index, head, status := m.read(repo, ".git/index"), m.read(repo, ".git/HEAD"), m.git(repo, "status", "--porcelain=v2", "--branch")

	if o := m.aibox(6, "rm", id); !strings.Contains(o.stderr, "accept") {
		t.Errorf("rm of unreviewed work does not suggest a command:\n%s", o)
	}
	patch := m.aibox(0, "diff", id).stdout
	if !strings.Contains(patch, "+two") || !strings.Contains(patch, "new file mode 100755") {
		t.Errorf("the diff is\n%s", patch)
	}
	if o := m.aibox(0, "diff", "--stat", id); !strings.Contains(o.stdout, "d/new.txt") {
		t.Errorf("the table is\n%s", o)
	}
	if o := m.aibox(0, "diff", "--name-status", id); !strings.Contains(o.stdout, "M\ta.txt") {
		t.Errorf("the names are\n%s", o)
	}
	branch := strings.TrimSpace(m.aibox(0, "accept", id, "--accept-risky", "d/new.txt").stdout)
	if m.git(repo, "show", branch+":d/new.txt") != "new\n" || m.git(repo, "show", branch+":untracked.txt") != "mine\n" {
		t.Error("the branch does not hold the work")
	}
	if m.read(repo, ".git/index") != index || m.read(repo, ".git/HEAD") != head ||
		m.git(repo, "status", "--porcelain=v2", "--branch") != status || m.read(repo, "a.txt") != "one\n" {
		t.Error("accept touched the index, HEAD or the working tree")
	}
	m.aibox(2, "accept", id) // twice needs a name
	m.aibox(2, "accept", id, "--branch", branch)
	m.aibox(6, "accept", id, "--branch", "main")
	m.aibox(0, "rm", id)

	dropped := work()
	ws := m.record(dropped).State.Workspace.Path
	m.aibox(0, "discard", dropped)
	if len(glob(t, ws)) != 0 {
		t.Error("the workspace of a discarded session is still there")
	}
	var saved []struct {
		Session, Ref, Repo string
	}
	decode(t, m.aibox(0, "recover", "--json").stdout, &saved)
	ref := ""
	for _, s := range saved {
		if s.Session == dropped && s.Repo == repo {
			ref = s.Ref
		}
	}
	restored := strings.TrimSpace(m.aibox(0, "recover", dropped, "--ref", ref).stdout)
	if m.git(repo, "show", restored+":a.txt") != "two\n" {
		t.Errorf("what came back on %s is not what was dropped", restored)
	}
	m.aibox(0, "rm", dropped)
	forced := work()
	m.aibox(0, "rm", "--force", forced)
	if o := m.aibox(0, "recover", forced); !strings.Contains(o.stdout, forced) {
		t.Errorf("what rm --force dropped cannot be brought back:\n%s", o)
	}
	if o := m.aibox(0, "ls", "--json"); strings.TrimSpace(o.stdout) != "[]" {
		t.Errorf("sessions are left:\n%s", o)
	}
}

func TestAPatchFromDiffIsWhatGitApplies(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "one\n", "gone.txt": "x\n"})
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		`printf 'caf\303\251\n' > 'a b.txt'; echo two >> a.txt; rm gone.txt; ln -s a.txt link; head -c 3000 /dev/urandom > bin.dat`))
	patch := m.aibox(0, "diff", r.ID).stdout
	m.write(filepath.Join(m.home, "work.patch"), patch)
	m.git(repo, "apply", "--index", filepath.Join(m.home, "work.patch"))
	if got := strings.TrimSpace(m.git(repo, "write-tree")); got != r.result().Changes.Tree {
		t.Errorf("the patch makes tree %s, the agent's is %s", got, r.result().Changes.Tree)
	}
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
