package supervisor

import (
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
	"aibox/session"
)

// counting makes the session's task watch see such numbers of the host and, in turn, of the sandbox.
func counting(s *supervisor, host int, counts ...int) {
	s.tasks = &taskWatch{
		allowed: 1000,
		host:    func() (int, error) { return host, nil },
		sandbox: func() (int, error) {
			if len(counts) == 0 {
				return 0, runtime.ErrGone
			}
			n := counts[0]
			counts = counts[1:]
			return n, nil
		},
	}
}

func TestASandboxWithTooManyTasksOfTheHostIsWarnedOfAndThenEnded(t *testing.T) {
	_, s := watched(t)
	counting(s, 5000, 100, 800, 1000, 1001)
	s.limitTasks(t.Context())
	if fault.KindOf(s.cause) != fault.Limit || !strings.Contains(s.cause.Error(), "1001 processes and threads of this machine, and its limit is 1000") {
		t.Errorf("it ends with %v", s.cause)
	}
	if s.record.Size() == 0 {
		t.Error("it was not warned of")
	}
}

func TestASandboxIsCountedOnlyWhenTheHostHasManyTasks(t *testing.T) {
	_, s := watched(t)
	counting(s, 700, 1001)
	if n, _, err := s.tasks.count(); n != 0 || err != nil {
		t.Errorf("%d tasks are counted, %v", n, err)
	}
	counting(s, 751, 1001)
	if n, _, err := s.tasks.count(); n != 1001 || err != nil {
		t.Errorf("%d tasks are counted, %v", n, err)
	}
}

func TestTheHostsTasksAreReadMoreOftenOnceItHasMany(t *testing.T) {
	_, s := watched(t)
	for host, seldom := range map[int]bool{100: true, 374: true, 376: false, 700: false, 751: false} {
		counting(s, host, 100)
		if _, _, err := s.tasks.count(); err != nil {
			t.Fatal(err)
		}
		if got := s.tasks.pause(0); got != taskCountPause != seldom {
			t.Errorf("with %d tasks the pause is %v", host, got)
		}
		if got := s.tasks.pause(time.Second); !seldom && got != taskCountShare*time.Second {
			t.Errorf("with %d tasks, after a long count, the pause is %v", host, got)
		}
	}
}

// gVisor ends without a reason when the kernel refuses it a task.
func TestASandboxThatEndsNearItsLimitOfTasksHasReachedIt(t *testing.T) {
	_, s := watched(t)
	for count, want := range map[int]bool{700: false, 900: true} {
		counting(s, 5000, count)
		if _, _, err := s.tasks.count(); err != nil {
			t.Fatal(err)
		}
		if cause := s.unreportedCause(); (cause != nil) != want {
			t.Errorf("after %d tasks the cause is %v", count, cause)
		}
		if kind := fault.KindOf(s.unmeasurableFault()); (kind == fault.Limit) != want {
			t.Errorf("after %d tasks a sandbox without memory has the fault %v", count, kind)
		}
	}
}

// Several sandboxes within their limits could use up what the machine has.
func TestASandboxWithManyTasksEndsWhenTheMachineHasFewLeft(t *testing.T) {
	for _, c := range []struct {
		host, count int
		ends        bool
	}{
		{7400, 900, false}, {7600, 900, true}, {7600, 300, false},
	} {
		_, s := watched(t)
		counting(s, c.host, c.count)
		s.tasks.machine = 10_000
		s.limitTasks(t.Context())
		if s.isEnding() != c.ends || c.ends && fault.KindOf(s.cause) != fault.Environment {
			t.Errorf("with %d tasks of %d it ends with %v", c.count, c.host, s.cause)
		}
	}
}

// A real machine is crowded by tens of thousands of tasks, so this test counts real processes of
// real sandboxes' stand-ins on a machine that is said to be small.
func TestSandboxesThatFillAMachineTogetherEndAndTheirProcessesDie(t *testing.T) {
	full, modest := make([]*supervisor, 2), limittest.Start(t)
	bombs := make([]*limittest.StandIn, len(full))
	for i := range full {
		_, full[i] = watched(t)
		bombs[i] = limittest.Start(t)
		for range 24 {
			bombs[i].Do("child")
		}
		full[i].current.Sandbox = bombs[i].Process
	}
	const machine = 640 // a bomb has more than 24 tasks, and what is modest fewer than 20
	watch := func(s *limittest.StandIn) *taskWatch {
		host := func() (int, error) { return machine, nil }
		return &taskWatch{allowed: machine, machine: machine, host: host, sandbox: limit.NewMeter(s.Process).Tasks}
	}
	var ended sync.WaitGroup
	for i, s := range full {
		s.tasks = watch(bombs[i])
		ended.Go(func() { s.limitTasks(t.Context()) })
	}
	if n, crowds, err := watch(modest).count(); n == 0 || crowds || err != nil {
		t.Errorf("a sandbox with %d of %d tasks crowds the machine: %v, %v", n, machine, crowds, err)
	}
	ended.Wait()
	for i, s := range full {
		<-bombs[i].Exited()
		if fault.KindOf(s.cause) != fault.Environment || !strings.Contains(s.cause.Error(), "almost the") {
			t.Errorf("bomb %d ends with %v", i, s.cause)
		}
	}
}

// PID 1 ends a sandbox with far more processes than the agent's limit.
func TestAProcessOfTheUserHasTheLimitOfTheAgent(t *testing.T) {
	for _, c := range []struct {
		spec session.Spec
		want uint64
	}{
		{session.Spec{Run: config.Run{Pids: 1000}}, 1000},
		{session.Spec{Run: config.Run{Pids: 1000, Sandboxes: 3}}, 250},
		{session.Spec{}, 0},
		{session.Spec{Run: config.Run{Pids: 1000}, Sandbox: &session.SandboxSpec{Permissions: session.Permissions{Processes: session.ProcessPermissions{Max: 20}}}}, 20},
	} {
		own, _ := c.spec.ProcessShares()
		if got := nproc(&c.spec); got != c.want || c.spec.Sandbox == nil && got != uint64(own) {
			t.Errorf("%+v: %d", c.spec.Run, got)
		}
	}
}
