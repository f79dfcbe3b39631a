package manager

import (
	"os/exec"
	"testing"
	"time"

	"aibox/runtime"
	"aibox/session"
)

// A process that a supervisor has just started holds copies of its open files until it runs
// its own program, so the lock of a killed supervisor is free a moment after its death.
func TestTheRepairAwaitsTheLockOfADeadSupervisor(t *testing.T) {
	d := newFixture(t)
	d.worked("00001-shell", session.Running)
	supervisor := exec.Command("sleep", "1000")
	d.must(supervisor.Start())
	process, err := runtime.FindProcess(supervisor.Process.Pid)
	d.must(err)
	state := d.loaded("00001-shell").State
	state.Supervisor = process
	d.must(d.store.Write("00001-shell", session.StateFile, state))
	held, err := d.store.Lock("00001-shell")
	d.must(err)
	if repaired, err := d.Repair(t.Context()); err != nil || len(repaired) > 0 {
		t.Fatalf("beside its supervisor, repaired is %+v, %v", repaired, err)
	}
	d.must(supervisor.Process.Kill())
	_ = supervisor.Wait()
	time.AfterFunc(50*time.Millisecond, func() { _ = held.Close() })
	repaired, err := d.Repair(t.Context())
	d.must(err)
	if len(repaired) != 1 || d.loaded("00001-shell").State.Phase != session.Ended {
		t.Errorf("repaired is %+v", repaired)
	}
}
