package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// numbers returns the entries of a folder of /proc that are numbers.
func numbers(folder string) []int {
	entries, _ := os.ReadDir(folder)
	var all []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// stateOf reports whether a process can execute anything, that is, whether one of its
// threads can. alive is false if it has ended.
func stateOf(pid int) (state processState, alive bool) {
	state = allStopped
	for _, thread := range numbers(fmt.Sprintf("/proc/%d/task", pid)) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, thread))
		if err != nil {
			continue // it has ended
		}
		// The second field is the program's name in parentheses, which may hold any bytes.
		end := bytes.LastIndexByte(data, ')')
		if end < 0 || end+2 >= len(data) {
			return canRun, true
		}
		switch data[end+2] {
		case 'Z', 'X': // it has ended
		case 'T', 't': // stopped, by a signal or by a debugger
			alive = true
		case 'D':
			// It waits in the kernel, for example after vfork for its stopped child. The
			// signal that stops it is pending then.
			state, alive = blocked, true
		default:
			return canRun, true
		}
	}
	return state, alive
}
