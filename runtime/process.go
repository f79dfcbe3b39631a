package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Process identifies a process of the host: a pid can be reused.
type Process struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"start_time"` // field 22 of /proc/PID/stat: clock ticks since boot
	// Boot is the kernel's random id of the boot in which the process runs. It is empty in
	// records of earlier versions. After a reboot another process can have the same pid and
	// the same start time.
	Boot string `json:"boot_id,omitempty"`
	// NetNSInode is the inode of the process's network namespace, 0 if it cannot be read.
	NetNSInode uint64 `json:"netns_inode"`
}

// FindProcess returns the running process with that pid.
func FindProcess(pid int) (Process, error) {
	start, err := startTime(pid)
	if err != nil {
		return Process{}, err
	}
	p := Process{PID: pid, StartTime: start, Boot: bootID()}
	var stat unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &stat) == nil {
		p.NetNSInode = stat.Ino
	}
	return p, nil
}

// bootID returns the id of the current boot, empty if the kernel does not report one.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// fromEarlierBoot reports whether the machine was rebooted since p was found.
func (p Process) fromEarlierBoot() bool { return p.Boot != "" && p.Boot != bootID() }

// Alive reports whether the process still runs. A zombie does not, unless it has other
// threads: until the last has ended, the process holds its locks and open files.
func (p Process) Alive() bool {
	if p.PID <= 0 || p.fromEarlierBoot() {
		return false
	}
	start, err := startTime(p.PID)
	return err == nil && start == p.StartTime
}

// Open opens a handle (pidfd), which refers to p even if its pid is reused. The caller
// closes it. If the process is gone, Open returns ErrGone.
func (p Process) Open() (int, error) {
	if p.PID <= 0 {
		return -1, ErrGone
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, ErrGone
	}
	if err != nil {
		return -1, fmt.Errorf("opening process %d: %w", p.PID, err)
	}
	if !p.Alive() {
		_ = unix.Close(fd)
		return -1, ErrGone
	}
	return fd, nil
}

// ErrGone reports that a process has ended.
var ErrGone = errors.New("the process has ended")

// KillProcess sends SIGKILL to p. The check of its identity and the signal use one pidfd, so
// it never kills a process that reused the pid. A process that is gone is not an error.
func KillProcess(p Process) error {
	if p.PID <= 1 {
		return fmt.Errorf("refusing to kill pid %d", p.PID)
	}
	fd, err := p.Open()
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing process %d: %w", p.PID, err)
	}
	return nil
}

// Stopped reports whether p exists and is stopped until a signal (SIGCONT) or a debugger
// continues it.
func (p Process) Stopped() bool {
	if p.PID <= 0 || p.fromEarlierBoot() {
		return false
	}
	fields, err := stat(p.PID)
	return err == nil && fields[19] == strconv.FormatUint(p.StartTime, 10) && (fields[0] == "T" || fields[0] == "t")
}

// startTime returns field 22 of /proc/PID/stat. It fails for a process that has ended, a
// zombie whose other threads have ended too.
func startTime(pid int) (uint64, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	const threads = 17 // field 20
	if fields[0] == "X" || fields[0] == "Z" && (fields[threads] == "0" || fields[threads] == "1") {
		return 0, fmt.Errorf("process %d is dead", pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// stat reads /proc/PID/stat from field 3, the process's state, on (proc(5)), at least 20
// fields. The second one is the program's name in parentheses, which may itself hold
// spaces and parentheses.
func stat(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, ok := cutLast(string(data), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return fields, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
