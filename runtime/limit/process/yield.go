package process

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/runtime/limit"
)

// The niceness of a sandbox's threads (sched(7)). Other programs of the machine, and aibox
// itself, go first when the processors do not suffice for all. Alone, a sandbox is as fast.
const (
	niceness     = 5  // at first
	debtNiceness = 15 // once the sandbox has used up its budget; it grows with the debt
	mostNiceness = 19 // of a sandbox that has used up its budget several times over
)

// crowd is how many threads for each processor may compute at once in a sandbox in debt.
// Beyond it the kernel runs them only when nothing else needs the processors: a thread counts
// for as much whatever else its sandbox runs, so many would take almost everything. Threads of
// gVisor's kernel and of programs that wait are not among them, so the sandbox still answers.
const crowd = 4

// budget is the processor time that a sandbox can use before it yields to those that have used
// less. Without contention it means nothing.
type budget struct {
	processors float64
	left       time.Duration // negative is a debt
}

const (
	// burst is the time for which a sandbox can use all its processors. The start of an agent
	// takes less, and the first answer of a model with it.
	burst = 3 * time.Second
	// sustained is the part of the processors that a sandbox can use all the time.
	sustained = 0.1
	// mostDebt bounds the debt, in budgets, so that it ends some minutes after the flood.
	mostDebt = 16
)

func newBudget(processors int) *budget {
	b := &budget{processors: float64(processors)}
	b.left = b.full()
	return b
}

// full is the budget that a sandbox starts with.
func (b *budget) full() time.Duration { return time.Duration(b.processors * float64(burst)) }

// spend takes the time that was used within a period, and gives what the period adds.
func (b *budget) spend(used, period time.Duration) {
	b.left += time.Duration(sustained*b.processors*float64(period)) - used
	b.left = min(max(b.left, -mostDebt*b.full()), b.full())
}

// niceness is that of a sandbox with this budget: 2 more each time that the debt doubles. A thread
// has about two thirds of the time of one whose niceness is 2 less.
func (b *budget) niceness() int {
	if b.left > 0 {
		return niceness
	}
	doublings := math.Log2(1 + float64(-b.left)/float64(max(b.full(), 1)))
	return min(debtNiceness+int(2*doublings), mostNiceness)
}

// watch keeps the niceness of a sandbox at what its use of the processors makes it. Close ends it.
type watch struct {
	sandbox    limit.Sandbox
	processors int
	meter      *limit.Meter
	nice       int // of the threads
	groups     int // the niceness that all groups have
	ctx        context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

func newWatch(s limit.Sandbox, processors int) *watch {
	w := &watch{sandbox: s, processors: processors, meter: limit.NewMeter(s.Process), nice: niceness}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

func startWatch(s limit.Sandbox, processors int) *watch {
	w := newWatch(s, processors)
	w.running.Go(w.run)
	return w
}

func (*watch) OutOfMemory() <-chan struct{} { return nil }

func (*watch) MachineOutOfMemory() bool { return false }

func (w *watch) Close() error {
	w.cancel()
	w.running.Wait()
	return nil
}

const (
	// period is how often a sandbox is measured, and calm how often if its budget is full.
	period = time.Second
	calm   = 3 * time.Second
	// share is the part of a processor that measuring takes at most: one by this number. A sandbox
	// with thousands of processes is measured less often.
	share = 20
)

// run measures until the sandbox has ended. What fails is tried again.
func (w *watch) run() {
	b := newBudget(w.processors)
	var used time.Duration
	for last, pause := time.Now(), period/4; ; {
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		u, err := w.meter.Usage()
		if !w.sandbox.Process.Alive() {
			return
		}
		if err == nil {
			b.spend(max(0, u.CPU-used), began.Sub(last))
			used, last = u.CPU, began
			w.adapt(b)
		}
		pause = max(period, share*time.Since(began))
		if b.left == b.full() {
			pause = max(pause, calm)
		}
	}
}

// adapt makes the sandbox as nice as its budget demands. The groups follow both ways. Only root can
// lower the niceness of a thread, so that one stays; where there are groups it does not count
// outside of its own.
func (w *watch) adapt(b *budget) {
	if nice := b.niceness(); nice > niceness {
		if nice > w.nice && bind(w.ctx, w.sandbox, bounds{nice: nice}) == nil {
			w.nice = nice
		}
		w.idleCrowd()
	}
	if nice := b.niceness(); nice != w.groups && w.setGroups(nice) {
		w.groups = nice
	}
}

// idleCrowd makes the threads that compute idle ones (SCHED_IDLE) if they are many.
func (w *watch) idleCrowd() {
	pids, err := limit.Descendants(w.sandbox.Process.PID)
	if err != nil {
		return
	}
	var all []int
	for _, pid := range pids {
		all = append(all, computing(pid)...)
	}
	if len(all) <= crowd*w.processors {
		return
	}
	for _, tid := range all {
		_ = makeIdle(tid) // it may have ended
	}
}

// computing returns the threads of a process that use a processor or wait for one.
func computing(pid int) (tids []int) {
	all, _ := threads(pid)
	for _, tid := range all {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
		end := bytes.LastIndexByte(stat, ')')
		if end >= 0 && bytes.HasPrefix(stat[end+1:], []byte(" R")) {
			tids = append(tids, tid)
		}
	}
	return tids
}

// makeIdle makes a thread one that runs only when no other thread of the machine needs its
// processor (sched(7)). It needs no rights, and what it starts is idle too.
func makeIdle(tid int) error {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy == schedIdle {
		return err
	}
	attr.Policy = schedIdle
	return unix.SchedSetAttr(tid, attr, 0)
}

// schedIdle is SCHED_IDLE of sched.h.
const schedIdle = 5

// setGroups makes the groups of the sandbox's processes as nice as that, and reports whether all
// are. Where the kernel makes a group of each session of processes (sched(7), "The autogroup
// feature"), a thread's niceness holds only within its group. The kernel takes one change in
// 100 ms, so the rest follows at the next measurement.
func (w *watch) setGroups(nice int) (all bool) {
	own, _, err := group(os.Getpid())
	if err != nil {
		return true // the kernel has no such groups
	}
	pids, err := limit.Descendants(w.sandbox.Process.PID)
	if err != nil {
		return false
	}
	seen := map[string]bool{own: true} // a sandbox is in a group of its own
	for _, pid := range append(pids, w.sandbox.Process.PID) {
		name, now, err := group(pid)
		if err != nil || seen[name] {
			continue
		}
		seen[name] = true
		if now != nice && os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(nice)), 0) != nil {
			return false
		}
	}
	return true
}

// group returns the name and the niceness of a process's group.
func group(pid int) (name string, nice int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil {
		return "", 0, err
	}
	name, rest, _ := strings.Cut(string(text), " nice ")
	nice, err = strconv.Atoi(strings.TrimSpace(rest))
	return name, nice, err
}

// niceOf returns the niceness of a thread. The system call returns 20 minus that.
func niceOf(tid int) (int, error) {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	return 20 - n, err
}
