package limit

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is the size of this machine.
type Machine struct {
	Memory int64 // bytes; 0 if unknown
	CPUs   int   // processors that this process can use
	Tasks  int   // processes and threads that its kernel can have at once; 0 if unknown
}

// ThisMachine measures this machine. In a container the container's limits count.
func ThisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), Tasks: machineTasks()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = int64(info.Totalram) * int64(info.Unit) //nolint:unconvert // their types differ between processors
	}
	if bound := cgroupMemory("/proc/self/cgroup", "/sys/fs/cgroup"); bound > 0 && (m.Memory == 0 || bound < m.Memory) {
		m.Memory = bound
	}
	return m
}

// The smallest and the largest default of memory, in bytes. Builds need the first; the
// second leaves room for other sessions.
const (
	leastMemory = 2 << 30
	mostMemory  = 8 << 30
)

// Default returns the limits of a session on m that sets none: a quarter of the memory,
// within bounds, and all processors but one if there are more than three. Processes have a
// fixed default.
func (m Machine) Default() Limits {
	cpus := m.CPUs
	if cpus > 3 {
		cpus--
	}
	memory := min(max(m.Memory/4, leastMemory), mostMemory, m.Memory)
	return Limits{Memory: memory, CPUs: float64(cpus)}
}

// cgroupMemory returns the smallest memory limit of this process's cgroups in bytes; 0 if
// there is none.
func cgroupMemory(own, root string) int64 {
	var smallest int64
	for _, dir := range cgroups(own, root) {
		if n := readNumber(filepath.Join(dir, "memory.max")); n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// cgroups returns the folders of this process's cgroups (cgroups(7), version 2), the
// innermost first.
func cgroups(own, root string) []string {
	data, _ := os.ReadFile(own) //nolint:gosec // a path of the kernel
	var dirs []string
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, filepath.Join(root, dir))
			if dir == "/" {
				break
			}
		}
	}
	return dirs
}
