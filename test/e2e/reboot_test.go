package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aibox/runtime"
	"aibox/runtime/runtimetest"
)

// A power cut ends everything at once. Afterwards the runtime folder is empty, the networks'
// rules are gone, and other processes have the pids of the records, by chance even with the
// same start times.
func TestTheRepairAfterARebootEndsNoOtherProcess(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := newDaemon(m)
	image, repo := d.image(), m.repo("p", nil)
	id := m.detached("shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker", "forever")
	m.start("attach", id).stdout.await(t, "ready")
	r := m.record(id)
	for _, p := range []runtime.Process{r.State.Supervisor, r.State.Watchdog} { // nothing gets time to react
		if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	d.sweep()
	for _, p := range []runtime.Process{r.State.Sandbox, r.State.Supervisor, r.State.Watchdog} {
		kill(t, p)
	}
	<-d.exited
	runtimetest.RemoveRootless(t, filepath.Join(d.dir, "run"))
	m.write(filepath.Join(d.dir, "run/.keep"), "")

	bystander := m.bystander()
	reused := bystander
	reused.Boot = "00000000-0000-4000-8000-000000000000"
	m.changeState(id, func(state map[string]json.RawMessage) {
		data, err := json.Marshal(reused)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"supervisor", "sandbox", "watchdog"} {
			state[name] = data
		}
	})
	m.exec(aibox, "ls") // the user may be faster than Docker
	d.start()
	m.exec(aibox, "ls")
	if o := m.aibox(0, "ls"); o.stderr != "" || !strings.Contains(o.stdout, id) || !strings.Contains(o.stdout, "failed") {
		t.Errorf("afterwards the list is\n%s", o)
	}
	if !bystander.Alive() {
		t.Error("another process was killed")
	}
	if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "+work") {
		t.Errorf("the work is lost:\n%s", o)
	}
	if left := m.leftContainers(); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if o := m.aibox(0, "run", "shell", "--network", "none", "--image", image, "--repo", repo, "--", "/worker"); !strings.Contains(o.stderr, "of 17") {
		t.Errorf("a run prints\n%s", o)
	}
	m.aibox(0, "accept", id)
}

// bystander is a process that has nothing to do with aibox.
func (m *machine) bystander() runtime.Process {
	m.t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	p, err := runtime.FindProcess(cmd.Process.Pid)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// changeState changes a session's state file, as another version or a crash could have.
func (m *machine) changeState(id string, change func(map[string]json.RawMessage)) {
	m.t.Helper()
	file := filepath.Join(m.sessions(), id, "state.json")
	var state map[string]json.RawMessage
	decode(m.t, m.read(file), &state)
	change(state)
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(file, string(data)+"\n")
}
