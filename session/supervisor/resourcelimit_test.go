package supervisor

import (
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime/limit"
)

func TestMemoryIsMeasuredMoreOftenTheCloserItIsToItsLimit(t *testing.T) {
	for left, want := range map[int64]time.Duration{
		16 << 30:  500 * time.Millisecond,
		1 << 30:   250 * time.Millisecond,
		256 << 20: 62500 * time.Microsecond,
		1 << 20:   5 * time.Millisecond,
		0:         5 * time.Millisecond,
	} {
		if got := memoryPause(left); got != want {
			t.Errorf("with %d bytes left it waits %v, not %v", left, got, want)
		}
	}
}

func TestMoreProcessorsThanTheMachineHasAreNoLimitOfTheirOwn(t *testing.T) {
	_, s := watched(t)
	has := float64(limit.ThisMachine().CPUs)
	for setting, want := range map[float64]float64{99_999: has, 0: 0, 0.5: 0.5} {
		s.launch.Spec.Run = config.Run{CPUs: amount.Decimal(setting * 100)}
		if got := s.resourceLimits().CPUs; got != want {
			t.Errorf("with %v processors the limit is %v, not %v", setting, got, want)
		}
	}
}

// exhausted is a control whose sandbox the kernel has ended for memory.
type exhausted struct {
	limit.Control
	machine bool
}

func (exhausted) OutOfMemory() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (e exhausted) MachineOutOfMemory() bool { return e.machine }

func TestAnEndForMemoryNamesTheLimitOrTheMachine(t *testing.T) {
	for machine, want := range map[bool]struct {
		kind fault.Kind
		text string
		logs bool
	}{
		false: {fault.Limit, "reached its memory limit of 1 GiB", true},
		true:  {fault.Environment, "this machine ran out of memory", false},
	} {
		_, s := watched(t)
		s.launch.Spec.Run = config.Run{Memory: 1024}
		s.control = exhausted{machine: machine}
		before := s.log.Next()
		if err := s.unreportedCause(); fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("machine %v: %v", machine, err)
		}
		if logs := s.log.Next() > before; logs != want.logs {
			t.Errorf("machine %v: logs a reached limit: %v", machine, logs)
		}
	}
}

func TestASandboxWithTooManyProcessesIsWarnedOfAndThenEnded(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Run = config.Run{Pids: 100}
	s.limitProcesses(lifeline.Tasks{Count: 81})
	if s.isEnding() || s.record.Size() == 0 {
		t.Fatalf("it ends with %v after %d bytes of notices", s.cause, s.record.Size())
	}
	// A hostile PID 1 could repeat it, and fill the disk with notices.
	before := s.log.Next()
	for range 100 {
		s.limitProcesses(lifeline.Tasks{Count: 81})
	}
	if more := s.log.Next() - before; more != 0 {
		t.Errorf("it was warned %d more times", more)
	}
	s.limitProcesses(lifeline.Tasks{Count: 145, Ended: true})
	if fault.KindOf(s.cause) != fault.Limit || !strings.Contains(s.cause.Error(), "145 processes and threads, more than its process limit of 100") {
		t.Errorf("it ends with %v", s.cause)
	}
}
