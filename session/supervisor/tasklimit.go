package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/runtime/limit"
)

// taskWatch counts the tasks of the host that a sandbox has. The kernel's limit, which is a
// little higher, makes gVisor end without a reason, and a host without process ids for others is
// of no use to anyone.
type taskWatch struct {
	allowed int // 0 without a limit
	machine int // how many tasks the machine can have; 0 if unknown
	host    func() (int, error)
	sandbox func() (int, error)
	last    atomic.Int64 // the last count; 0 if the host has so few that none was needed
	quiet   bool         // the host has so few that the next look can wait
}

func newTaskWatch(limits limit.Limits, meter *limit.Meter) *taskWatch {
	return &taskWatch{allowed: limits.Tasks(), machine: limit.ThisMachine().Tasks, host: limit.HostTasks, sandbox: meter.Tasks}
}

const (
	// taskWarning is the part of the limit from which on the sandbox is counted and the user warned,
	// in percent.
	taskWarning = 75
	// crowdedMachine is the part of its tasks above which a machine is crowded, in percent, and
	// modestShare what a sandbox may have then: one in this many.
	crowdedMachine, modestShare = 75, 32
)

func (w *taskWatch) near(count int) bool { return count > w.allowed*taskWarning/100 }

// count counts the tasks of the sandbox, unless the whole host has too few to matter. crowds reports
// whether the machine has few left and the sandbox many.
func (w *taskWatch) count() (n int, crowds bool, err error) {
	total, err := w.host()
	w.quiet = err == nil && !w.near(2*total)
	if err == nil && !w.near(total) {
		w.last.Store(0)
		return 0, false, nil
	}
	if n, err = w.sandbox(); err == nil {
		w.last.Store(int64(n))
	}
	return n, w.machine > 0 && total > w.machine/100*crowdedMachine && n > w.machine/modestShare, err
}

// wasNear reports whether the sandbox had almost as many tasks as allowed, which explains its end
// if nothing else does.
func (w *taskWatch) wasNear() bool { return w != nil && w.allowed > 0 && w.near(int(w.last.Load())) }

const (
	// taskCountPause is the least time between two counts, and quietPause the time while the host
	// has few tasks.
	taskCountPause, quietPause = 250 * time.Millisecond, time.Second
	// taskCountShare bounds the part of a processor that counting takes: one by this number and one.
	taskCountShare = 9
)

// pause returns the time until the next count, after one that took some time.
func (w *taskWatch) pause(took time.Duration) time.Duration {
	if w.quiet {
		return quietPause
	}
	return max(taskCountPause, taskCountShare*took)
}

// limitTasks ends the session when the sandbox has more tasks of the host than its limit of
// processes allows. It returns when ctx or the sandbox ends.
func (s *limits) limitTasks(ctx context.Context) {
	s.mu.Lock()
	w := s.tasks
	s.mu.Unlock()
	if w == nil || w.allowed == 0 {
		return
	}
	warned := false
	for {
		began := time.Now()
		n, crowds, err := w.count()
		switch {
		case errors.Is(err, runtime.ErrGone), err != nil && s.isSandboxEnding():
			return
		case err != nil: // the kernel's limit holds nevertheless
			fmt.Fprintln(os.Stderr, "counting the sandbox's tasks:", err)
		case n > w.allowed:
			s.end(s.tasksFault(n))
			s.killSandbox()
			return
		case crowds:
			s.end(s.crowdedFault(n))
			s.killSandbox()
			return
		case w.near(n) && !warned:
			warned = true
			s.postNotice(fmt.Sprintf("the sandbox has %d processes and threads of this machine, and its limit is %d; the session is ended if it has more", n, w.allowed))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.pause(time.Since(began))):
		}
	}
}

// tasksFault reports and logs that the sandbox has too many tasks of the host.
func (s *sandbox) tasksFault(count int) error {
	s.audit(audit.LimitReached, map[string]string{"limit": "tasks", "value": strconv.Itoa(s.tasks.allowed)})
	return fault.New(fault.Limit, "the sandbox had %d processes and threads of this machine, and its limit is %d, so it was ended", count, s.tasks.allowed).
		Hint("%s", s.hintKept("a program started processes too fast; --pids sets another limit"))
}

// crowdedFault reports that the machine has few tasks left, of which the sandbox has many. That is no
// limit of the session.
func (s *sandbox) crowdedFault(count int) error {
	return fault.New(fault.Environment, "this machine has almost the %d processes and threads that it can have, and the sandbox had %d of them, so it was ended", s.tasks.machine, count).
		Hint("%s", s.hintKept("other sandboxes or programs have the rest"))
}
