package limit

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"aibox/runtime"
)

const (
	// tasksPerProcess and ownTasks bound the tasks of the host's kernel, which are processes and
	// threads. gVisor has one for each process of the sandbox and one for each thread at most; its
	// own are some hundreds. What ends stays for the next process, so a program that starts
	// processes as fast as it can has about twice as many.
	tasksPerProcess, ownTasks = 2, 1024
	// taskShare is the part of the machine's tasks that one sandbox can have: one by this number.
	taskShare = 4
)

// Tasks returns how many tasks of the host's kernel a sandbox may have; 0 means no limit. The
// exact limit of processes is that of the sandbox's PID 1. This one protects the host, which
// has a limited number of process ids.
func (l Limits) Tasks() int { return l.tasksOf(ThisMachine().Tasks) }

func (l Limits) tasksOf(machine int) int {
	if l.Processes == 0 {
		return 0
	}
	most := l.Processes*tasksPerProcess + ownTasks
	if machine > 0 {
		most = min(most, max(machine/taskShare, ownTasks))
	}
	return most
}

// MostTasks returns how many tasks the kernel lets a sandbox have; 0 means no limit. gVisor ends
// there without giving a reason, so a caller that measures ends the session before.
func (l Limits) MostTasks() int { return l.Tasks() / 4 * 5 }

// machineTasks returns how many tasks the kernel can have at once; 0 if unknown.
func machineTasks() int {
	pids, threads := readNumber("/proc/sys/kernel/pid_max"), readNumber("/proc/sys/kernel/threads-max")
	if pids == 0 || threads == 0 {
		return int(max(pids, threads))
	}
	return int(min(pids, threads))
}

// HostTasks returns how many tasks the kernel has, at the cost of one small read (proc_loadavg(5)).
func HostTasks() (int, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0, errors.New("/proc/loadavg cannot be read")
	}
	_, total, _ := strings.Cut(fields[3], "/")
	return strconv.Atoi(total)
}

// Tasks measures how many tasks of the host's kernel the sandbox has. The cost grows with their
// number.
func (m *Meter) Tasks() (int, error) {
	_, count, err := tree(m.process.PID)
	if !m.process.Alive() {
		return 0, runtime.ErrGone
	}
	return count, err
}
