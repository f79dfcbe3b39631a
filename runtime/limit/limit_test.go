package limit_test

import (
	"errors"
	"testing"
	"time"

	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/runtime/limit/limittest"
)

func TestMain(m *testing.M) { limittest.Main(m) }

func measure(t *testing.T, m *limit.Meter) limit.Usage {
	t.Helper()
	used, err := m.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func TestAMeterMeasuresMemoryDiskProcessesAndProcessorTime(t *testing.T) {
	s := limittest.Start(t)
	m := limit.NewMeter(s.Process)
	before := measure(t, m)
	s.Do("memory 67108864")
	s.Do("disk 8388608")
	s.Do("child")
	s.Do("child")
	after := measure(t, m)
	if grown := after.Memory - before.Memory; grown < 60<<20 || grown > 100<<20 {
		t.Errorf("64 MiB are measured as %d bytes", grown)
	}
	if grown := after.Disk - before.Disk; grown < 8<<20 || grown > 9<<20 {
		t.Errorf("8 MiB on the disk are measured as %d bytes", grown)
	}
	if before.Processes != 0 || after.Processes != 2 {
		t.Errorf("%d and then %d processes", before.Processes, after.Processes)
	}
	s.Do("burn 1")
	for deadline := time.Now().Add(time.Minute); measure(t, m).CPU < after.CPU+200*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatalf("the time on processors stays at %v", after.CPU)
		}
	}
}

func TestAMeterCountsTheTasksOfAllProcesses(t *testing.T) {
	s := limittest.Start(t)
	m := limit.NewMeter(s.Process)
	tasks := func() int {
		n, err := m.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	alone := tasks()
	s.Do("child")
	if n := tasks(); n <= alone {
		t.Errorf("a process adds %d tasks to %d", n-alone, alone)
	}
}

func TestASandboxThatHasEndedIsNotMeasured(t *testing.T) {
	s := limittest.Start(t)
	m := limit.NewMeter(s.Process)
	_ = measure(t, m)
	if err := runtime.KillProcess(s.Process); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
	if _, err := m.Memory(); !errors.Is(err, runtime.ErrGone) {
		t.Errorf("got %v", err)
	}
}

// A process without gVisor's memory files would seem to use almost no memory.
func TestAProcessThatIsNoSandboxCannotBeMeasured(t *testing.T) {
	init, err := runtime.FindProcess(1)
	if err != nil {
		t.Skip("PID 1 cannot be seen here")
	}
	if used, err := limit.NewMeter(init).Memory(); err == nil {
		t.Errorf("PID 1 uses %d bytes", used)
	}
}

func TestASandboxIsItsKernelItsFileServerAndTheirDescendants(t *testing.T) {
	s := limittest.Start(t)
	s.Do("child")
	pids, err := s.Processes()
	if err != nil || len(pids) != 2 || pids[0] != s.Process.PID {
		t.Errorf("%v, %v", pids, err)
	}
}

func TestLimitsAreWordsForUsers(t *testing.T) {
	for want, l := range map[string]limit.Limits{
		"":                       {Processes: 7},
		"2 GiB of memory":        {Memory: 2 << 30},
		"2 GiB of memory, 1 CPU": {Memory: 2 << 30, CPUs: 1},
		"1.5 CPUs":               {CPUs: 1.5},
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
