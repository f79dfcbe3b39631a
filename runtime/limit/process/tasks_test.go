package process

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

func TestTheKernelLimitsTheTasksOfASandbox(t *testing.T) {
	s := limittest.Start(t)
	s.Do("child")
	limits := limit.Limits{Processes: 4096}
	c, err := Enforcer{}.Enforce(context.Background(), s.Sandbox, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Do("child") // a new process
	pids, err := s.Processes()
	if err != nil || len(pids) != 3 {
		t.Fatal(pids, err)
	}
	for _, pid := range pids {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &now); err != nil || now.Cur > now.Max || now.Max != uint64(limits.MostTasks()) {
			t.Errorf("process %d has the limit %+v, not %d, %v", pid, now, limits.MostTasks(), err)
		}
	}
}

func TestALowerLimitOfTasksIsKept(t *testing.T) {
	s := limittest.Start(t)
	lower := unix.Rlimit{Cur: 5000, Max: 5000}
	if err := unix.Prlimit(s.Process.PID, unix.RLIMIT_NPROC, &lower, nil); err != nil {
		t.Fatal(err)
	}
	c, err := Enforcer{}.Enforce(context.Background(), s.Sandbox, limit.Limits{Processes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var now unix.Rlimit
	if err := unix.Prlimit(s.Process.PID, unix.RLIMIT_NPROC, nil, &now); err != nil || now != lower {
		t.Errorf("the limit is %+v, %v", now, err)
	}
}
