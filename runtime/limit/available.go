package limit

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// AvailableMemory returns how many bytes of memory new processes can use without swapping:
// MemAvailable of proc(5), or what the limits of this process's cgroups leave if that is less.
func AvailableMemory() (int64, error) {
	available, err := readField("/proc/meminfo", "MemAvailable:")
	if err != nil {
		return 0, err
	}
	available <<= 10
	for _, dir := range cgroups("/proc/self/cgroup", "/sys/fs/cgroup") {
		if left, limited := cgroupAvailable(dir); limited {
			available = min(available, left)
		}
	}
	return available, nil
}

// cgroupAvailable returns how many bytes the limit of a cgroup leaves. The kernel frees
// inactive pages of files before it enforces the limit.
func cgroupAvailable(dir string) (left int64, limited bool) {
	bound, used := readNumber(filepath.Join(dir, "memory.max")), readNumber(filepath.Join(dir, "memory.current"))
	if bound <= 0 {
		return 0, false
	}
	inactive, _ := readField(filepath.Join(dir, "memory.stat"), "inactive_file")
	return max(0, bound-max(0, used-inactive)), true
}

// readField returns the number after a name in a file of lines of names and numbers.
func readField(path, name string) (int64, error) {
	file, err := os.Open(path) //nolint:gosec // a path of the kernel
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, errors.New(path + " has no " + name)
}

// readNumber returns the number in a file; 0 if there is none.
func readNumber(path string) int64 {
	text, _ := os.ReadFile(path) //nolint:gosec // a path of the kernel
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n
}
