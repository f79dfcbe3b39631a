package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// launchCommand makes init set the limits of a process and then execute a program: Go cannot run code between fork and exec.
const launchCommand = "launch"

const defaultNoFile = 65536

// launch sets the limits, the folder and the user, and executes a program. Its args are NPROC NOFILE
// TTY NOCHILDREN USER DIR DIR-AS-USER PATH ARGV…, with USER as identity.String returns it. env is the
// program's environment. It does not return.
func launch(args, env []string) {
	if len(args) < 9 {
		fmt.Fprintln(os.Stderr, "aibox-init: launch is internal")
		os.Exit(125)
	}
	runtime.LockOSThread()
	if err := setLimits(args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: setting the limits:", err)
		os.Exit(125)
	}
	if args[2] == "true" {
		if err := refusePositionalWrites(); err != nil {
			fmt.Fprintln(os.Stderr, "aibox-init: preparing the terminal:", err)
			os.Exit(125)
		}
	}
	if args[6] != "true" {
		changeFolder(args[5])
	}
	if err := becomeUserToExecute(args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: changing the user:", err)
		os.Exit(125)
	}
	if args[6] == "true" {
		changeFolder(args[5])
	}
	restoreLibcSignals()
	// A second defense against leaked descriptors, which old kernels lack: init opens
	// all of them with O_CLOEXEC.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if args[3] == "true" {
		if err := refuseChildren(); err != nil {
			fmt.Fprintln(os.Stderr, "aibox-init: refusing other processes:", err)
			os.Exit(125)
		}
	}
	err := syscall.Exec(args[7], args[8:], env)
	fmt.Fprintf(os.Stderr, "aibox-init: running %q: %v\n", args[7], err)
	if errors.Is(err, os.ErrNotExist) {
		os.Exit(127) // the interpreter of a script
	}
	os.Exit(126)
}

func changeFolder(path string) {
	if err := os.Chdir(path); err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: changing the folder:", err)
		os.Exit(125)
	}
}

// setLimits sets both soft and hard limits: without CAP_SYS_RESOURCE the agent cannot
// raise them again. An nproc of 0 means no limit.
func setLimits(nproc, nofile string) error {
	processes, err := strconv.ParseUint(nproc, 10, 64)
	if err != nil {
		return err
	}
	files, err := strconv.ParseUint(nofile, 10, 64)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	if err := limit(unix.RLIMIT_NOFILE, files); err != nil {
		return err
	}
	if processes == 0 {
		return nil
	}
	return limit(unix.RLIMIT_NPROC, processes)
}

// limit lowers a limit to n, or to the sandbox's maximum if that is less. It uses syscall
// instead of unix: syscall.Setrlimit of NOFILE also keeps Exec from restoring the limit
// with which this process started.
func limit(resource int, n uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	n = min(n, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}
