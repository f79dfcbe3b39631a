package main

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"aibox/internal/watchdog"
)

// watch runs a watchdog on the host, with its supervisor's socket as standard input, and
// returns the exit code. It ignores the signals of a shutdown or logout, at which the
// supervisor ends the sandbox in an orderly way.
func watch() int {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
	if err := watchdog.Serve(int(os.Stdin.Fd())); err != nil {
		fmt.Fprintln(os.Stderr, "watchdog:", err)
		return 1
	}
	return 0
}
