package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stopper is an agent that stops PID 1 of its sandbox, which could end the sandbox when the
// supervisor is lost, and continues to work.
const stopper = `echo work > work.txt; echo ready; sleep 0.2; kill -STOP 1 && touch stopped; while :; do date > beat; sleep 0.1; done`

// initStopped starts a session whose agent has stopped PID 1.
func (m *machine) initStopped(args ...string) record {
	m.t.Helper()
	id := m.detached(append([]string{"shell", "--network", "none", "--repo", m.repo("p", nil)}, args...)...)
	r := m.record(id)
	m.awaitStopped(r)
	return r
}

// awaitStopped waits until a session's agent has stopped PID 1, which it signals with a
// file.
func (m *machine) awaitStopped(r record) {
	m.t.Helper()
	eventually(m.t, hung, "the agent has stopped PID 1", func() bool {
		_, err := os.Stat(filepath.Join(r.State.Workspace.Path, "stopped"))
		return err == nil
	})
}

func TestTheSandboxEndsWithItsSupervisorThoughItsPID1IsStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.initStopped("--", "sh", "-c", stopper)
	kill(t, r.State.Supervisor)
	r.sandboxEnds(t)
	// Without any command, the remains end by themselves, too.
	eventually(t, hung, "the sandbox's processes are gone", func() bool { return len(mentioning(r.State.Container)) == 0 })
	eventually(t, hung, "the watchdog is gone", func() bool { return !r.State.Watchdog.Alive() })
	if o := m.aibox(0, "ls"); !strings.Contains(o.stderr, "cleaned up after "+r.ID) {
		t.Errorf("the repair is not reported:\n%s", o)
	}
	if o := m.aibox(0, "diff", r.ID); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	m.aibox(0, "rm", "--force", r.ID)
}

// PID 1 and the watchdog do not need each other.
func TestPID1EndsTheSandboxOfADeadSupervisorThoughTheWatchdogIsStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	r := m.record(id)
	if err := syscall.Kill(r.State.Watchdog.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	kill(t, r.State.Supervisor)
	r.sandboxEnds(t)
	kill(t, r.State.Watchdog)
	m.aibox(0, "rm", "--force", id)
}

func TestAnAgentThatStopsPID1IsEndedByItsSupervisor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.initStopped("--timeout", "1m", "--", "sh", "-c", stopper)
	watcher := m.start("attach", r.ID)
	if code := watcher.wait(); code != 4 || !strings.Contains(watcher.stderr.String(), "first process stopped answering") {
		t.Errorf("the watcher exits with %d and prints %q", code, watcher.stderr.String())
	}
	if o := m.aibox(0, "diff", r.ID); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
	m.aibox(0, "rm", "--force", r.ID)
}

// What ends the supervisor may be meant for all that belongs to it.
func TestTheWatchdogSurvivesSignalsToItsSupervisorsGroup(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.initStopped("--", "sh", "-c", stopper)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		if err := syscall.Kill(r.State.Watchdog.PID, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(-r.State.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.sandboxEnds(t)
	m.aibox(0, "rm", "--force", r.ID)
}

func TestASessionEndsWithItsWatchdog(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	r := m.record(id)
	kill(t, r.State.Watchdog)
	if code := watcher.wait(); code != 3 || !strings.Contains(watcher.stderr.String(), "watchdog was killed") {
		t.Errorf("the watcher exits with %d and prints %q", code, watcher.stderr.String())
	}
	if r.State.Sandbox.Alive() {
		t.Error("the sandbox lives on")
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is not kept:\n%s", o)
	}
}

func TestAWatchdogIsSmallAndGoneWithItsSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	r := m.record(id)
	if rss := resident(t, r.State.Watchdog.PID); rss > 8<<10 {
		t.Errorf("it has %d kB in memory", rss)
	} else {
		t.Logf("it has %d kB in memory", rss)
	}
	m.aibox(0, "stop", id)
	eventually(t, hung, "the watchdog is gone", func() bool { return !r.State.Watchdog.Alive() })
}

// A list is correct at once, even before the supervisor notices.
func TestASessionWhoseSandboxDiedIsNotListedAsRunning(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", worker)
	r := m.record(id)
	watcher := m.start("attach", id)
	watcher.stdout.await(t, "ready")
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "running") {
		t.Errorf("the list has\n%s", o)
	}
	kill(t, r.State.Sandbox)
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}} {
		if o := m.aibox(0, args...); strings.Contains(o.stdout, "running") {
			t.Errorf("%q says of a dead sandbox\n%s", args, o)
		}
	}
	watcher.wait()
}
