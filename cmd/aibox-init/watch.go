package main

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"aibox/internal/watchdog"
)

// watch is the life of a watchdog, which runs on the host with its supervisor's
// socket as standard input; it returns the exit code. At the end of the machine or of
// the user's login the supervisor ends the box in good order, so that the signals of
// such an end are not for the watchdog.
func watch() int {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
	if err := watchdog.Serve(int(os.Stdin.Fd())); err != nil {
		fmt.Fprintln(os.Stderr, "watchdog:", err)
		return 1
	}
	return 0
}
