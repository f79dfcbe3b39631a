// Package process enforces limits where no systemd of the user runs. It needs neither root
// nor cgroups, so it enforces less: processors by affinity, in whole numbers; memory only
// if the caller measures it and ends the sandbox; tasks by a resource limit.
package process

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/runtime"
	"aibox/runtime/limit"
)

// Enforcer is the limit.Enforcer. The zero value works.
type Enforcer struct {
	affinity func(pid int, set *unix.CPUSet) error // nil for the kernel's
}

// Name returns "aibox".
func (Enforcer) Name() string { return "aibox" }

// Gaps returns the limit of processors if it is not a whole number, or if the processors are
// unknown.
func (e Enforcer) Gaps(l limit.Limits) []limit.Gap {
	processors := e.available()
	switch {
	case l.CPUs <= 0:
		return nil
	case len(processors) == 0:
		return []limit.Gap{{
			Text: "without a systemd of yours, a sandbox can use all processors, because the kernel does not list them",
			Hint: "--cpus 0 sets no limit of processors",
		}}
	case l.CPUs == math.Trunc(l.CPUs) || l.CPUs >= float64(len(processors)):
		return nil
	}
	return []limit.Gap{{
		Text: fmt.Sprintf("without a systemd of yours, a sandbox can only have whole processors, not %s", strconv.FormatFloat(l.CPUs, 'f', -1, 64)),
		Hint: fmt.Sprintf("--cpus %d can be enforced", int(math.Ceil(l.CPUs))),
	}}
}

// Enforce binds the sandbox's threads to as many processors as its limit allows, rounded
// up, lowers their priority, and limits their number. New threads inherit that, and nothing in
// the sandbox can change it: gVisor never passes such a call to the host.
func (e Enforcer) Enforce(ctx context.Context, s limit.Sandbox, l limit.Limits) (limit.Control, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	processors := e.available()
	if s.Within.PID != 0 {
		shared, err := affinityOf(s.Within)
		if err != nil {
			return nil, fmt.Errorf("sharing the processors of another sandbox: %w", err)
		}
		n := len(shared)
		if l.CPUs > 0 {
			n = min(n, int(math.Ceil(l.CPUs)))
		}
		if err := bind(ctx, s, bounds{choose(shared, n, s.ID), niceness, uint64(l.MostTasks())}); err != nil {
			return nil, err
		}
		return startWatch(s, n), nil
	}
	var set *unix.CPUSet // nil for all
	n := len(processors)
	if n == 0 { // a gap
		n = limit.ThisMachine().CPUs
	} else if l.CPUs > 0 && l.CPUs < float64(n) {
		n = int(math.Ceil(l.CPUs))
		set = choose(processors, n, s.ID)
	}
	if err := bind(ctx, s, bounds{set, niceness, uint64(l.MostTasks())}); err != nil {
		return nil, fmt.Errorf("limiting the sandbox to %v processors: %w", l.CPUs, err)
	}
	return startWatch(s, n), nil
}

// available returns the processors that this process can use; none if the kernel does not list
// them, as where it has more of them than the set can hold.
func (e Enforcer) available() []int {
	affinity := e.affinity
	if affinity == nil {
		affinity = unix.SchedGetaffinity
	}
	var set unix.CPUSet
	if affinity(0, &set) != nil {
		return nil
	}
	return listed(&set)
}

// listed returns the processors of a set.
func listed(set *unix.CPUSet) []int {
	var all []int
	for cpu := range len(*set) * strconv.IntSize {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all
}

// affinityOf returns the processors that a sandbox is bound to.
func affinityOf(sandbox runtime.Process) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(sandbox.PID, &set); err != nil {
		return nil, err
	}
	if !sandbox.Alive() { // the pid may be another process's
		return nil, runtime.ErrGone
	}
	return listed(&set), nil
}

// choose returns n of the processors, different ones for different sandboxes, so that
// sessions do not share one processor while others are idle.
func choose(processors []int, n int, sandbox string) *unix.CPUSet {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(sandbox))
	first := int(hash.Sum32() % uint32(len(processors)))
	set := new(unix.CPUSet)
	for i := range n {
		set.Set(processors[(first+i)%len(processors)])
	}
	return set
}

// rounds bounds how often bind looks for threads that started while it worked.
const rounds = 20

// bounds are what the threads of a sandbox are bound to.
type bounds struct {
	processors *unix.CPUSet // nil for all
	nice       int          // at least
	tasks      uint64       // of the whole sandbox; see boundTasks
}

// bind binds all threads of the sandbox. A thread that is not bound yet may start another one, so it
// repeats until it finds none.
func bind(ctx context.Context, s limit.Sandbox, b bounds) error {
	roots, err := s.Roots()
	if err != nil {
		return err
	}
	for range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		pids, err := limit.WithDescendants(roots)
		if err != nil {
			return err
		}
		changed := false
		for _, pid := range pids {
			more, err := bindProcess(pid, b)
			if err != nil {
				return err
			}
			changed = changed || more
		}
		if !changed {
			return nil
		}
	}
	return errors.New("the sandbox starts threads faster than they can be limited")
}

// bindProcess binds a process's threads, and reports whether it changed anything.
func bindProcess(pid int, b bounds) (changed bool, err error) {
	changed, err = boundTasks(pid, b.tasks)
	if errors.Is(err, unix.ESRCH) {
		return false, nil // it has ended
	}
	if err != nil {
		return false, err
	}
	tids, err := threads(pid)
	if err != nil {
		return false, err
	}
	for _, tid := range tids {
		bound, err := bindThread(tid, b.processors, b.nice)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return false, err
		}
		changed = changed || bound
	}
	return changed, nil
}

// threads returns the threads of a process, none if it has ended.
func threads(pid int) (tids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return nil, err
		}
		tids = append(tids, tid)
	}
	return tids, nil
}

// bindThread binds a thread, and reports whether it changed anything.
func bindThread(tid int, set *unix.CPUSet, nice int) (changed bool, err error) {
	var now unix.CPUSet
	if set != nil {
		if err := unix.SchedGetaffinity(tid, &now); err != nil {
			return false, err
		}
		if now != *set {
			changed = true
			if err := unix.SchedSetaffinity(tid, set); err != nil {
				return changed, err
			}
		}
	}
	before, err := niceOf(tid)
	if err != nil || before >= nice {
		return changed, err
	}
	return true, unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
}
