package process

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

func TestMain(m *testing.M) { limittest.Main(m) }

func TestTheSuite(t *testing.T) {
	limittest.Suite(t, Enforcer{}, limit.Limits{Memory: 1 << 30, CPUs: 1, Processes: 4096})
}

// processorsOf returns the largest number of processors that any thread of a process can use.
func processorsOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, task := range tasks {
		var tid int
		var set unix.CPUSet
		_, _ = fmt.Sscan(task.Name(), &tid)
		if err := unix.SchedGetaffinity(tid, &set); err == nil {
			most = max(most, set.Count())
		}
	}
	return most
}

func TestProcessesOfASandboxUseOnlyAsManyProcessorsAsAllowed(t *testing.T) {
	if len(Enforcer{}.available()) < 2 {
		t.Skip("this machine has one processor")
	}
	s := limittest.Start(t)
	s.Do("child")
	s.Do("burn 3")
	if before := processorsOf(t, s.Process.PID); before < 2 {
		t.Fatalf("the stand-in has %d processors", before)
	}
	c, err := Enforcer{}.Enforce(context.Background(), s.Sandbox, limit.Limits{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Do("burn 3") // new threads
	s.Do("child")  // and a new process
	pids, err := s.Processes()
	if err != nil || len(pids) != 3 {
		t.Fatal(pids, err)
	}
	for _, pid := range pids {
		if n := processorsOf(t, pid); n != 1 {
			t.Errorf("process %d can use %d processors", pid, n)
		}
	}
}

func TestASandboxGivesWayToOtherPrograms(t *testing.T) {
	for _, limits := range []limit.Limits{{}, {CPUs: 1}, {CPUs: 64}} {
		s := limittest.Start(t)
		s.Do("child")
		s.Do("burn 3")
		c, err := Enforcer{}.Enforce(context.Background(), s.Sandbox, limits)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.Do("burn 3") // new threads
		s.Do("child")  // and a new process
		pids, err := s.Processes()
		if err != nil || len(pids) != 3 {
			t.Fatal(pids, err)
		}
		for _, tid := range threadsOf(t, s) {
			if nice, err := niceOf(tid); err == nil && nice < niceness {
				t.Errorf("with %+v, thread %d has the niceness %d", limits, tid, nice)
			}
		}
	}
}

func TestOnlyWholeProcessorsCanBeEnforced(t *testing.T) {
	all := float64(len(Enforcer{}.available()))
	for cpus, gaps := range map[float64]int{0: 0, 1: 0, 0.5: 1, all: 0, all - 0.5: 1, all + 0.5: 0} {
		if got := (Enforcer{}).Gaps(limit.Limits{CPUs: cpus}); len(got) != gaps {
			t.Errorf("%v: %v", cpus, got)
		}
	}
}

func TestProcessorsThatCannotBeCountedAreAGap(t *testing.T) {
	e := Enforcer{affinity: func(int, *unix.CPUSet) error { return unix.EINVAL }}
	for cpus, gaps := range map[float64]int{0: 0, 1: 1, 0.5: 1} {
		if got := e.Gaps(limit.Limits{CPUs: cpus}); len(got) != gaps {
			t.Errorf("%v: %v", cpus, got)
		}
	}
	s := limittest.Start(t)
	c, err := e.Enforce(context.Background(), s.Sandbox, limit.Limits{CPUs: 1}) // the user allowed the gap
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestSandboxesGetDifferentProcessors(t *testing.T) {
	processors := make([]int, 16)
	for i := range processors {
		processors[i] = i * 2
	}
	used := map[unix.CPUSet]bool{}
	for i := range 64 {
		set := choose(processors, 2, fmt.Sprintf("%064d", i))
		if set.Count() != 2 {
			t.Fatalf("%d processors", set.Count())
		}
		used[*set] = true
	}
	if len(used) < 8 {
		t.Errorf("64 sandboxes share %d sets of processors", len(used))
	}
}

func TestASandboxWithinAnotherUsesNoProcessorThatTheOtherDoesNotHave(t *testing.T) {
	if len(Enforcer{}.available()) < 2 {
		t.Skip("this machine has one processor")
	}
	outer := limittest.Start(t)
	c, err := Enforcer{}.Enforce(context.Background(), outer.Sandbox, limit.Limits{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var shared unix.CPUSet
	if err := unix.SchedGetaffinity(outer.Process.PID, &shared); err != nil {
		t.Fatal(err)
	}
	for _, limits := range []limit.Limits{{CPUs: 1}, {CPUs: 64}, {}} {
		for range 4 { // with any name; elsewhere the name determines the processors
			s := limittest.Start(t)
			s.Within = outer.Process
			inner, err := Enforcer{}.Enforce(context.Background(), s.Sandbox, limits)
			if err != nil {
				t.Fatal(err)
			}
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(s.Process.PID, &set); err != nil || set != shared {
				t.Errorf("%+v: it has the processors %v, and the other one %v (%v)", limits, listed(&set), listed(&shared), err)
			}
			if err := inner.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	s := limittest.Start(t)
	s.Within = outer.Process
	_ = outer.Try("exit")
	s.Within.StartTime++ // the pid is another process's
	if _, err := (Enforcer{}).Enforce(context.Background(), s.Sandbox, limit.Limits{CPUs: 1}); err == nil {
		t.Error("it shares the processors of a sandbox that has ended")
	}
}
