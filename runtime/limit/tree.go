package limit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"aibox/runtime"
)

// Descendants returns the processes that pid has started, and those that they have started,
// without pid. It is not atomic: a process that starts meanwhile may be missing.
func Descendants(pid int) ([]int, error) {
	all, _, err := tree(pid)
	return all, err
}

// tree returns the descendants of a process, and the number of threads that they and it have.
func tree(pid int) (all []int, threads int, err error) {
	children, threads, err := childrenOf(pid)
	if err != nil {
		return nil, 0, err
	}
	all = children
	for _, child := range children {
		more, their, err := tree(child)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
		all, threads = append(all, more...), threads+their
	}
	return all, threads, nil
}

// childrenOf returns the children of all threads of a process (proc_tid_children(5)), and how many
// threads it has.
func childrenOf(pid int) (children []int, threads int, err error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, task := range tasks {
		data, err := os.ReadFile(dir + "/" + task.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		for text := range strings.FieldsSeq(string(data)) {
			child, err := strconv.Atoi(text)
			if err != nil {
				return nil, 0, err
			}
			children = append(children, child)
		}
	}
	return children, len(tasks), nil
}

// Processes returns the processes of a sandbox on the host: its kernel, its file server, and
// all that they have started. The container shim is not one of them.
func (s Sandbox) Processes() ([]int, error) {
	roots, err := s.Roots()
	if err != nil {
		return nil, err
	}
	return WithDescendants(roots)
}

// Roots returns the kernel and the file server of a sandbox, which exist from its creation on. It looks
// at every process of the machine.
func (s Sandbox) Roots() ([]int, error) {
	processes, err := runtime.Belonging(s.ID)
	if err != nil {
		return nil, err
	}
	pids := []int{s.Process.PID}
	for _, process := range processes {
		if process.PID != s.Process.PID && process.Runs("runsc") {
			pids = append(pids, process.PID)
		}
	}
	return pids, nil
}

// WithDescendants returns processes and all that they have started. The first must not have ended.
func WithDescendants(roots []int) ([]int, error) {
	pids := slices.Clone(roots)
	for i, pid := range roots {
		more, err := Descendants(pid)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("listing the sandbox's processes: %w", err)
		}
		pids = append(pids, more...)
	}
	return unique(pids), nil
}

func unique(pids []int) []int {
	seen, kept := map[int]bool{}, pids[:0]
	for _, pid := range pids {
		if !seen[pid] {
			seen[pid], kept = true, append(kept, pid)
		}
	}
	return kept
}
