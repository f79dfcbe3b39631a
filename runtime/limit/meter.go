package limit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/runtime"
)

// Usage is what a sandbox uses.
type Usage struct {
	Memory    int64         // bytes
	CPU       time.Duration // time on processors since its start
	Processes int           // of the host that run the sandbox's processes, about one for each
	Disk      int64         // bytes of the host's disk that its root file system takes; 0 if gVisor keeps that in memory
}

// memoryFiles are the files without a name in which gVisor keeps the memory of a sandbox's
// processes.
var memoryFiles = []string{"/memfd:runsc-memory", "/memfd:systrap-memory"}

// clockTick is the unit of times in /proc/PID/stat (proc_pid_stat(5)): always 1/100 s.
const clockTick = 10 * time.Millisecond

// Meter measures the use of a sandbox from /proc. It needs no cgroup: under gVisor, Docker
// reports the numbers of the whole host. It is safe for concurrent use.
type Meter struct {
	process runtime.Process
	dir     string // of the sandbox's process in /proc

	mu    sync.Mutex
	files []string // the descriptors of memoryFiles, found at the first measurement
	roots []string // those of rootFile
}

// NewMeter returns a meter of the sandbox whose process on the host is p.
func NewMeter(p runtime.Process) *Meter {
	return &Meter{process: p, dir: "/proc/" + strconv.Itoa(p.PID)}
}

// Memory measures the memory, with a few system calls.
func (m *Meter) Memory() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.findFiles(); err != nil {
		return 0, err
	}
	sum, err := sizeOf(m.files)
	if err != nil {
		return 0, err
	}
	own, err := anonymousMemory(m.dir)
	return sum + own, err
}

// rootFile begins the name of the files on the host's disk in which gVisor keeps what a sandbox
// has written outside of its mounts.
const rootFile = ".gvisor.filestore"

// Root measures how much of the host's disk the sandbox's root file system takes, with a
// few system calls. It returns an error if there is no such file, since it then does not
// know where gVisor keeps the root file system.
func (m *Meter) Root() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.findFiles(); err != nil {
		return 0, err
	}
	if m.roots == nil {
		return 0, errors.New("the sandbox's process has no file for its root file system")
	}
	return sizeOf(m.roots)
}

// sizeOf returns how much space files take.
func sizeOf(files []string) (sum int64, err error) {
	for _, file := range files {
		var st unix.Stat_t
		if err := unix.Stat(file, &st); err != nil {
			return 0, fmt.Errorf("measuring the sandbox: %w", err)
		}
		sum += st.Blocks * 512
	}
	return sum, nil
}

// findFiles finds the descriptors of memoryFiles and rootFile. It is runtime.ErrGone if the
// process has ended.
func (m *Meter) findFiles() error {
	if !m.process.Alive() {
		return runtime.ErrGone
	}
	if m.files != nil {
		return nil
	}
	entries, err := os.ReadDir(m.dir + "/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		file := m.dir + "/fd/" + entry.Name()
		target, err := os.Readlink(file)
		if err != nil {
			continue // the descriptor was closed meanwhile
		}
		if strings.HasPrefix(filepath.Base(target), rootFile) {
			m.roots = append(m.roots, file)
		}
		for _, name := range memoryFiles {
			if strings.HasPrefix(target, name) {
				m.files = append(m.files, file)
			}
		}
	}
	if m.files == nil {
		return errors.New("the sandbox's process has no memory file of gVisor")
	}
	return nil
}

// anonymousMemory returns the resident memory of a process that is in no file: gVisor's own
// tables, which grow with the files, pipes and sockets of the sandbox.
func anonymousMemory(dir string) (int64, error) {
	data, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0, fmt.Errorf("%s/statm cannot be read", dir)
	}
	resident, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, err
	}
	shared, err := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize()), err
}

// Usage measures everything. The cost grows with the number of processes.
func (m *Meter) Usage() (Usage, error) {
	memory, err := m.Memory()
	if err != nil {
		return Usage{}, err
	}
	own, err := cpuTime(m.process.PID)
	if err != nil {
		return Usage{}, err
	}
	m.mu.Lock()
	roots := m.roots // found with the files of the memory
	m.mu.Unlock()
	disk, err := sizeOf(roots)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Memory: memory, CPU: own, Disk: disk}
	children, err := Descendants(m.process.PID)
	if err != nil {
		return Usage{}, err
	}
	for _, pid := range children {
		if used, err := cpuTime(pid); err == nil { // otherwise it has ended
			u.CPU += used
			u.Processes++
		}
	}
	return u, nil
}

// cpuTime returns the time that a process and its children that it waited for have spent on
// processors.
func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	var ticks int64
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
