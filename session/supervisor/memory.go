package supervisor

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory returns memory to the system that only the start of a session needed: heap,
// and pages of the program's file, which are read again when needed.
func releaseMemory() {
	debug.FreeOSMemory()
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return // the process stays larger, which is harmless
	}
	defer maps.Close()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, size, ok := readOnlyMapping(lines.Text(), exe); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED)
		}
	}
}

// readOnlyMapping returns the range of a line of /proc/PID/maps (proc_pid_maps(5)) if it
// maps file read-only. Dropped pages of such a range are read again from the file.
func readOnlyMapping(line, file string) (from, size uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || strings.Join(fields[5:], " ") != file || len(fields[1]) != 4 || fields[1][1] != '-' {
		return 0, 0, false
	}
	begin, end, _ := strings.Cut(fields[0], "-")
	first, err := strconv.ParseUint(begin, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	last, err := strconv.ParseUint(end, 16, 64)
	if err != nil || last <= first {
		return 0, 0, false
	}
	return uintptr(first), uintptr(last - first), true
}
