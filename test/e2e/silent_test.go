package e2e

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/runtime"
)

// A supervisor that was stopped (SIGSTOP) accepts connections and never answers. Commands
// report it in time, and `stop --force` ends the session without it.
func TestAStoppedSupervisorBlocksNoCommand(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	watchers := []*background{m.start("attach", id), m.start("logs", "-f", id)}
	for _, w := range watchers {
		w.stdout.await(t, "ready")
	}
	r := m.record(id)
	if err := syscall.Kill(r.State.Supervisor.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.KillProcess(r.State.Supervisor) }) // not another process with its PID
	for _, w := range watchers {
		if code := w.wait(); code != 3 || !strings.Contains(w.stderr.String(), "aibox stop --force "+id) {
			t.Errorf("who watches ends with %d and %q", code, w.stderr.String())
		}
	}
	begun := time.Now()
	commands := map[string]*background{}
	for _, args := range [][]string{
		{"stop", id}, {"extend", id, "5m"}, {"attach", id}, {"logs", "-f", id}, {"rm", "--force", id}, {"discard", id}, {"accept", id},
	} {
		commands[strings.Join(args, " ")] = m.start(args...) // all at once: each one waits for a while
	}
	for name, b := range commands {
		if code := b.wait(); code != 3 || !strings.Contains(b.stderr.String(), "was stopped by a signal") || !strings.Contains(b.stderr.String(), "aibox stop --force "+id) {
			t.Errorf("%s ends with %d and does not suggest a command:\n%s", name, code, b.stderr.String())
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s took up to %v", name, took)
		}
	}
	for _, args := range [][]string{{"ls"}, {"logs", id}, {"gc"}} {
		m.aibox(0, args...)
	}
	if !r.State.Sandbox.Alive() {
		t.Error("a command that only asks has ended the session")
	}
	begun = time.Now()
	m.aibox(0, "stop", "--force", id)
	t.Logf("stop --force took %v", time.Since(begun))
	if r.State.Sandbox.Alive() || r.State.Supervisor.Alive() || len(m.containers()) > 0 {
		t.Error("the session continues")
	}
	if end := m.record(id).State.Result; end == nil || end.Fault == nil || !strings.Contains(end.Fault.Message, "stopped by the user") {
		t.Errorf("the result is %+v", end)
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	if o := m.aibox(0, "logs", id); o.stdout != "ready\n" {
		t.Errorf("the record is not kept:\n%s", o)
	}
	m.aibox(0, "rm", "--force", id)
}

// A session that nothing is wrong with ends at once, too, also while its agent ignores
// what it is asked.
func TestStopForceEndsASessionAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", "trap '' TERM INT; "+worker)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	if o := m.aibox(0, "stop", "--force", id); o.stdout != id+"\n" {
		t.Errorf("the output is\n%s", o)
	}
	watcher.wait()
	if r := m.record(id); r.State.Sandbox.Alive() || r.State.Result == nil || r.State.Result.Fault == nil {
		t.Errorf("the session is %+v", r.State)
	}
	m.aibox(0, "stop", "--force", id) // it has ended: no error
	m.aibox(0, "discard", id)
}

// What `recover` prints it takes: for each kind of state, of sessions with and without a
// record, and of two sessions that ran one after the other within a minute.
func TestRecoverAcceptsWhatItPrints(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	seen := map[string]bool{}
	for _, repo := range []string{m.repo("p", nil), m.repo("q", nil)} {
		r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo work > work.txt"))
		if seen[r.ID] {
			t.Errorf("%s came twice", r.ID)
		}
		seen[r.ID] = true
		m.aibox(0, "rm", "--force", r.ID)
	}
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("r", nil), "--json", "--", "sh", "-c", "echo work > work.txt"))
	m.aibox(0, "accept", r.ID)
	m.aibox(0, "discard", r.ID)
	m.aibox(0, "recover", r.ID, "--to-workspace")
	next := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--resume", r.ID, "--json", "--", "sh", "-c", "echo work > more.txt"))
	m.aibox(0, "accept", next.ID, "--to", "worktree")
	var listed []struct{ By, Handle, Commit, Ref, What string }
	if err := json.Unmarshal([]byte(m.aibox(0, "recover", "--json").stdout), &listed); err != nil || len(listed) < 6 {
		t.Fatalf("%v: %+v", err, listed)
	}
	lines := strings.Split(m.aibox(0, "recover").stdout, "\n")[1:]
	for i, saved := range listed {
		if fields := strings.Fields(lines[i]); fields[0] != saved.By || fields[1] != saved.Handle {
			t.Errorf("line %d is %q, not of %+v", i+1, lines[i], saved)
		}
		for _, ref := range []string{saved.Handle, saved.Ref, saved.Commit} {
			if o := m.aibox(0, "recover", saved.By, "--ref", ref, "--diff"); saved.What != "before-worktree" && !strings.Contains(o.stdout, "+work") {
				t.Errorf("%s of %s shows\n%s", ref, saved.By, o)
			}
		}
		m.aibox(0, "recover", saved.By, "--ref", saved.Handle)
	}
}
