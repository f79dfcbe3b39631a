package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/runtime/limit"
)

// resourceLimits returns the limits of the sandbox's memory, processors and processes.
func (s *run) resourceLimits() limit.Limits {
	spec := &s.launch.Spec
	// A sandbox never has more processors than the machine, whatever its limit is.
	cpus := min(spec.CPUs.Float(), float64(limit.ThisMachine().CPUs))
	return limit.Limits{Memory: spec.Memory.Bytes(), CPUs: cpus, Processes: spec.Pids}
}

// enforceLimits applies the limits to the sandbox, in which no agent runs yet.
func (s *sandbox) enforceLimits(ctx context.Context, id string, process runtime.Process) error {
	limits := s.resourceLimits()
	meter := limit.NewMeter(process)
	target := limit.Sandbox{ID: id, Session: string(s.id), Process: process}
	if spec := s.launch.Spec.Sandbox; spec != nil && spec.Parent != nil {
		target.Within = spec.Parent.Sandbox
	}
	control, err := s.deps.Limits().Enforce(ctx, target, limits)
	if err != nil {
		return fault.New(fault.Environment, "the limits of the sandbox could not be set: %w", err).
			Hint("`aibox doctor` reports what enforces limits on this machine").
			Hint("--memory 0 --cpus 0 runs without these limits")
	}
	s.onUndo(func(context.Context) error { return control.Close() })
	s.mu.Lock()
	s.meter, s.control, s.tasks = meter, control, newTaskWatch(limits, meter)
	s.mu.Unlock()
	return nil
}

// closeLimits releases the control that enforced the limits. The sandbox has ended.
func (s *sandbox) closeLimits() error {
	s.mu.Lock()
	control := s.control
	s.control = nil
	s.mu.Unlock()
	if control == nil {
		return nil
	}
	return control.Close()
}

const (
	// memoryWarning is the part of the memory limit above which the session warns, in
	// percent.
	memoryWarning = 85
	// fastestGrowth bounds how fast a sandbox can use more memory, in bytes per second. The
	// next measurement happens before it could use the rest.
	fastestGrowth = 4 << 30
)

// memoryPause returns the time until the next measurement with the given amount of memory
// left.
func memoryPause(left int64) time.Duration {
	return min(max(time.Duration(float64(left)/fastestGrowth*float64(time.Second)), 5*time.Millisecond), 500*time.Millisecond)
}

// limitMemory ends the session when the sandbox uses more memory than its limit, at once: a
// sandbox that continues for the time of a question or of a graceful end can exhaust the
// host. It warns first. It returns when ctx or the sandbox ends.
func (s *limits) limitMemory(ctx context.Context) {
	s.mu.Lock()
	meter, control := s.meter, s.control
	s.mu.Unlock()
	allowed := s.memoryLeft()
	if meter == nil || control == nil || allowed == 0 {
		return
	}
	warned := false
	for {
		allowed = s.memoryLeft()
		used, err := meter.Memory()
		switch {
		case errors.Is(err, runtime.ErrGone), err != nil && s.isSandboxEnding():
			return
		case err != nil && control.OutOfMemory() == nil:
			fmt.Fprintln(os.Stderr, "measuring memory:", err)
			s.end(s.unmeasurableFault())
			s.killSandbox()
			return
		case err != nil: // the kernel enforces the limit
			fmt.Fprintln(os.Stderr, "measuring memory:", err)
			return
		case used > allowed:
			s.endForMemory()
			return
		case !warned && used > allowed/100*memoryWarning:
			warned = true
			s.postNotice(fmt.Sprintf("the sandbox uses %s of its memory limit of %s; the session is ended if it uses more",
				amount.Bytes(used), amount.Bytes(allowed)))
		}
		timer := time.NewTimer(memoryPause(allowed - used))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-control.OutOfMemory():
			timer.Stop()
			s.end(s.outOfMemoryFault(control))
			s.killSandbox()
			return
		case <-timer.C:
		}
	}
}

// isSandboxEnding reports whether the sandbox is ending, after a measurement failed. It
// waits a moment: the kernel frees a dying process's memory before its threads end.
func (s *limits) isSandboxEnding() bool { return s.state().Sandbox.AwaitEnd(time.Second) == nil }

// unmeasurableFault reports why the memory of the sandbox cannot be measured. Its kernel can be gone
// while thousands of processes still end.
func (s *limits) unmeasurableFault() error {
	if cause := s.unreportedCause(); cause != nil {
		return cause
	}
	return fault.New(fault.Environment, "the sandbox's memory cannot be measured, so the session was ended").
		Hint("%s", s.hintKept("its memory limit could not be enforced"))
}

// endForMemory ends the session and kills the sandbox because of its memory limit.
func (s *limits) endForMemory() {
	s.end(s.memoryFault())
	s.killSandbox()
}

// memoryFault reports and logs that the memory limit was reached.
func (s *sandbox) memoryFault() error {
	text := amount.Bytes(s.memoryLeft())
	s.audit(audit.LimitReached, map[string]string{"limit": "memory", "value": text})
	return fault.New(fault.Limit, "the sandbox reached its memory limit of %s, so it was ended", text).
		Hint("%s", s.hintKept("--memory sets another limit"))
}

// outOfMemoryFault reports why the sandbox was ended for memory.
func (s *sandbox) outOfMemoryFault(control limit.Control) error {
	if !control.MachineOutOfMemory() {
		return s.memoryFault()
	}
	return fault.New(fault.Environment, "this machine ran out of memory, so its system ended the sandbox").
		Hint("%s", s.hintKept("end other programs, or run fewer sessions at once"))
}

// limitProcesses warns that the sandbox is near its limit of processes, or ends the session
// because it exceeded the limit. Then PID 1, which counts the processes, has already killed
// them: the sandbox's kernel enforces the limit for each user, but not for all users
// together.
func (s *limits) limitProcesses(tasks lifeline.Tasks) {
	allowed, _ := s.launch.Spec.ProcessShares()
	switch {
	case !tasks.Ended && s.warnedOfTasks:
	case !tasks.Ended:
		s.warnedOfTasks = true
		s.postNotice(fmt.Sprintf("the sandbox has %d processes and threads, and its limit is %d; at the limit a new one fails, and beyond it the session is ended",
			tasks.Count, allowed))
	case !s.isEnding():
		s.audit(audit.LimitReached, map[string]string{"limit": "processes", "value": strconv.Itoa(allowed)})
		s.end(fault.New(fault.Limit, "the sandbox had %d processes and threads, more than its process limit of %d, so it was ended", tasks.Count, allowed).
			Hint("%s", s.hintKept("--pids sets another limit")))
	}
}

// kernelReportTime is how long the kernel's report that it ended a sandbox for memory can
// arrive after the end.
const kernelReportTime = time.Second

// unreportedCause returns why a sandbox ended without a report: its limit of memory or of tasks,
// or nil if that is unknown.
func (s *sandbox) unreportedCause() error {
	s.mu.Lock()
	control, tasks := s.control, s.tasks
	s.mu.Unlock()
	if control != nil && control.OutOfMemory() != nil {
		select {
		case <-control.OutOfMemory():
			return s.outOfMemoryFault(control)
		case <-time.After(kernelReportTime):
		}
	}
	if tasks.wasNear() {
		return s.tasksFault(int(tasks.last.Load()))
	}
	return nil
}
