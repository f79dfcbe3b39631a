package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

const (
	// taskPause is the time between two counts of the sandbox's tasks, and busyTaskPause the
	// same when there are more than half as many as allowed.
	taskPause     = 250 * time.Millisecond
	busyTaskPause = 20 * time.Millisecond
	// taskWarning is the part of the limit above which init reports the number, in percent.
	taskWarning = 80
)

// taskState says how many tasks, which are processes and threads, a sandbox has.
type taskState int

const (
	tasksFew     taskState = iota
	tasksMany              // to be reported
	tasksTooMany           // which the kernel's limit did not prevent
)

// stateOfTasks returns the state for a limit of processes. When every user of the sandbox keeps
// to the limit, there are a few more tasks: those of init, or of root besides the agent's user.
func stateOfTasks(count, nproc uint64) taskState {
	switch {
	case count > nproc+nproc/8+32:
		return tasksTooMany
	case count*100 > nproc*taskWarning:
		return tasksMany
	default:
		return tasksFew
	}
}

func taskPauseAt(count, nproc uint64) time.Duration {
	if count > nproc/2 {
		return busyTaskPause
	}
	return taskPause
}

// watchTasks keeps the whole sandbox within its limit of processes, until the sandbox ends.
// The kernel's own limit counts the processes of each user, so a program that changes its user
// gets past it. watchTasks kills all processes before it reports anything: the supervisor could
// be late.
func (srv *server) watchTasks(nproc uint64) {
	if nproc == 0 {
		return
	}
	for warned := false; ; {
		count := countTasks()
		switch state := stateOfTasks(count, nproc); {
		case state == tasksTooMany:
			srv.endForTasks(lifeline.Tasks{Count: count, Ended: true})
			return
		case state == tasksMany && !warned:
			warned = true
			srv.report(lifeline.TypeTasks, lifeline.Tasks{Count: count})
		}
		time.Sleep(taskPauseAt(count, nproc))
	}
}

// endForTasks kills every process, and reports why. So does the exit of the agent, which may
// be reported first.
func (srv *server) endForTasks(tasks lifeline.Tasks) {
	srv.mu.Lock()
	srv.tasks = tasks.Count
	srv.mu.Unlock()
	signalAll(unix.SIGKILL)
	go srv.report(lifeline.TypeTasks, tasks)
	srv.reaper.killAll(0, killLimit)
}

// countTasks returns how many tasks the sandbox has. gVisor's sysinfo(2) counts those of all
// users and namespaces; in tests init is an ordinary process, and counts its descendants.
func countTasks() uint64 {
	if os.Getpid() != 1 {
		return uint64(len(descendants(os.Getpid())))
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Procs)
}
