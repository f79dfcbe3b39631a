package scope

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aibox/runtime/limit"
)

// cgroups is the hierarchy of cgroups (version 2, cgroups(7)).
type cgroups struct {
	root string // where it is mounted
	proc string // "/proc"
}

// of returns the folder of the cgroup of a process.
func (g cgroups) of(pid int) (string, error) {
	data, err := os.ReadFile(filepath.Join(g.proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(g.root, filepath.Clean("/"+path)), nil
		}
	}
	return "", fmt.Errorf("process %d has no cgroup of version 2", pid)
}

// controllers are the cgroup controllers that the limits need.
var controllers = []string{"cpu", "memory", "pids"}

// missing returns the controllers that a cgroup does not have.
func missing(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	have := " " + strings.Join(strings.Fields(string(data)), " ") + " "
	var lacking []string
	for _, name := range controllers {
		if !strings.Contains(have, " "+name+" ") {
			lacking = append(lacking, name)
		}
	}
	return lacking, nil
}

// confirm checks that the kernel has the limits: systemd ignores those whose controller it
// does not have.
func confirm(dir string, l limit.Limits) error {
	if l.Memory > 0 {
		n, err := readNumber(filepath.Join(dir, "memory.max"))
		if err != nil || n > l.Memory {
			return fmt.Errorf("the limit of memory is %d: %w", n, errors.Join(err, errNotSet))
		}
		// Without swap accounting the kernel has no such file.
		if n, err := readNumber(filepath.Join(dir, "memory.swap.max")); !errors.Is(err, fs.ErrNotExist) && (err != nil || n != 0) {
			return fmt.Errorf("the limit of swap is %d: %w", n, errors.Join(err, errNotSet))
		}
	}
	if l.CPUs > 0 {
		share, err := readQuota(filepath.Join(dir, "cpu.max"))
		if err != nil || share > l.CPUs+0.011 { // systemd rounds to whole units of the period
			return fmt.Errorf("the limit of processors is %v: %w", share, errors.Join(err, errNotSet))
		}
	}
	if l.Processes > 0 {
		n, err := readNumber(filepath.Join(dir, "pids.max"))
		if err != nil || n > int64(l.MostTasks()) {
			return fmt.Errorf("the limit of threads is %d: %w", n, errors.Join(err, errNotSet))
		}
	}
	return nil
}

var errNotSet = errors.New("it was not set")

// readNumber reads a file with a number; "max" is an error.
func readNumber(file string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
}

// readQuota reads cpu.max, "QUOTA PERIOD", as a number of processors.
func readQuota(file string) (float64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) != 2 {
		return 0, fmt.Errorf("%s holds %q", file, data)
	}
	quota, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0, err
	}
	each, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || each <= 0 {
		return 0, fmt.Errorf("%s holds %q", file, data)
	}
	return quota / each, nil
}

// readField reads a number from a file of names and numbers.
func readField(file, name string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if key, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			return strconv.ParseInt(text, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}
