package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hostPrograms are prefixes of the names of the programs that run a sandbox on the host: the OCI
// runtime, which runs the sandbox and its file server, and the shim between them and the
// daemon.
var hostPrograms = []string{"runsc", "containerd-shim"}

// Belonging finds the host's processes that run the sandbox with that id (Sandbox.ID): the
// sandbox, its file server and its shim. They belong to this user, run a known program, and
// have the id, which is random, among their arguments.
func Belonging(sandbox string) ([]Process, error) {
	if len(sandbox) < 12 {
		return nil, fmt.Errorf("%q is not the id of a sandbox", sandbox)
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1) // unsorted
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || !isHostProgram(int(proc.Fd()), name) || !keeps(pid, sandbox) {
			continue
		}
		// Check again, in case the pid was reused meanwhile.
		p, err := FindProcess(pid)
		if err == nil && keeps(pid, sandbox) && p.Alive() {
			found = append(found, p)
		}
	}
	return found, nil
}

// isHostProgram reports whether a process, named by its folder in proc, can run one of hostPrograms. A
// machine has thousands of processes while a sandbox starts as many as it can, so this takes three
// system calls. It is true if the start of the arguments is longer than expected.
func isHostProgram(proc int, name string) bool {
	fd, err := unix.Openat(proc, name+"/cmdline", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false // it has ended
	}
	defer unix.Close(fd)
	var start [256]byte
	n, err := unix.Read(fd, start[:])
	if err != nil || n <= 0 {
		return false // it has ended, or is a process of the kernel
	}
	program, _, whole := bytes.Cut(start[:n], []byte{0})
	if !whole && n == len(start) {
		return true
	}
	return slices.ContainsFunc(hostPrograms, func(prefix string) bool {
		return bytes.HasPrefix(program[bytes.LastIndexByte(program, '/')+1:], []byte(prefix))
	})
}

// keeps reports whether p, a process of this user, runs the sandbox.
func keeps(pid int, sandbox string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || int(st.Uid) != os.Getuid() {
		return false
	}
	line, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return false
	}
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	program := filepath.Base(args[0])
	return slices.ContainsFunc(hostPrograms, func(name string) bool { return strings.HasPrefix(program, name) }) &&
		slices.ContainsFunc(args[1:], func(arg string) bool { return filepath.Base(arg) == sandbox })
}

// Runs reports whether the name by which the process was started begins with prefix.
func (p Process) Runs(prefix string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	program, _, _ := strings.Cut(string(line), "\x00")
	return err == nil && strings.HasPrefix(filepath.Base(program), prefix)
}

// KillBelonging kills the remaining processes of a sandbox whose daemon is gone, and waits
// for their end. It does not kill those that end by themselves within patience.
func KillBelonging(sandbox string, patience time.Duration) error {
	left, err := Belonging(sandbox)
	deadline := time.Now().Add(patience)
	for _, p := range left {
		if p.AwaitEnd(max(time.Until(deadline), 0)) == nil {
			continue
		}
		err = errors.Join(err, EndProcess(p))
	}
	return err
}
