package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// launchCommand is how init calls itself in the agent's process: limits have to
// be set there, between fork and exec, and Go offers no place in between.
const launchCommand = "launch"

const defaultNoFile = 65536

// launch sets the limits and becomes the agent: args are NPROC NOFILE TTY PATH
// ARGV…. It does not return.
func launch(args []string) {
	if len(args) < 5 {
		fmt.Fprintln(os.Stderr, "aibox-init: launch is internal")
		os.Exit(125)
	}
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
	restoreLibcSignals()
	// Whatever descriptor leaked to here stops here; an old kernel without the
	// call has nothing leaking either, since init opens all with O_CLOEXEC.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	err := syscall.Exec(args[3], args[4:], os.Environ())
	fmt.Fprintf(os.Stderr, "aibox-init: running %q: %v\n", args[3], err)
	if errors.Is(err, os.ErrNotExist) {
		os.Exit(127) // the interpreter of a script
	}
	os.Exit(126)
}

// setLimits sets soft and hard limits alike: without CAP_SYS_RESOURCE the agent
// cannot raise them again. An nproc of 0 is no limit.
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

// limit lowers a limit to n, or to what the box allows if that is less.
// syscall, not unix: syscall.Setrlimit of NOFILE also keeps Exec from restoring
// the limit this process started with.
func limit(resource int, n uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	n = min(n, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}
