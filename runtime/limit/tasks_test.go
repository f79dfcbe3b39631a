package limit

import (
	"os"
	"testing"
)

func TestTheTasksOfASandboxFollowItsProcessesAndTheMachine(t *testing.T) {
	for _, c := range []struct{ processes, machine, want int }{
		{0, 32768, 0},
		{100, 32768, 1224},
		{4096, 32768, 8192},
		{4096, 4 << 20, 9216},
		{4096, 1000, 1024},
		{4096, 0, 9216},
	} {
		if got := (Limits{Processes: c.processes}).tasksOf(c.machine); got != c.want {
			t.Errorf("%d processes on a machine of %d tasks are %d tasks, not %d", c.processes, c.machine, got, c.want)
		}
	}
	if l := (Limits{Processes: 100}); l.MostTasks() <= l.Tasks() || (Limits{}).MostTasks() != 0 {
		t.Error("the kernel ends a sandbox before its session is ended")
	}
}

func TestTheHostHasTheTasksOfThisProcess(t *testing.T) {
	own, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := HostTasks(); err != nil || n < len(own) || n > ThisMachine().Tasks {
		t.Errorf("the host has %d of %d tasks, %v", n, ThisMachine().Tasks, err)
	}
}
