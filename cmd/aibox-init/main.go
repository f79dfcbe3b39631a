// Command aibox-init is PID 1 of a box, and the watchdog of a session on the host.
//
// As PID 1 it holds the lifeline to the supervisor,
// runs the probes, starts the agent, carries its bytes, reaps, and ends every
// process of the box on request or when the lifeline is lost. It opens no
// connection but that one and reads no file of the agent's. For the watchdog see
// package watchdog.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/watchdog"
)

// exitLost is the exit code of a box whose lifeline broke.
const exitLost = 70

func main() {
	if len(os.Args) > 1 && os.Args[1] == launchCommand {
		launch(os.Args[2:])
	}
	if len(os.Args) > 1 && os.Args[1] == watchdog.Command {
		os.Exit(watch())
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: aibox-init HOST:PORT")
		os.Exit(2)
	}
	os.Exit(run(os.Args[1]))
}

// run is the life of PID 1; it returns the box's exit code.
func run(address string) int {
	// The agent is root in the same box: it must not read PID 1's memory or
	// descriptors, and none of its signals may end PID 1.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: hiding PID 1 from ptrace:", err)
		return exitLost
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	ignoreLibcSignals()
	// Outside a box (in tests) orphans are to come to init just the same.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

	conn, err := dial(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: no supervisor:", err)
		return exitLost
	}
	reaper := newReaper()
	go reaper.run(signals)
	b := newBox(lifeline.NewConn(conn), reaper)
	return b.serve()
}

// dial connects to the supervisor, which may still be about to listen: its side
// of the network is made while the box starts. The first attempts are short, since
// an unanswered SYN would be sent again only after a second.
func dial(address string) (net.Conn, error) {
	deadline := time.Now().Add(10 * time.Second)
	for timeout := 100 * time.Millisecond; ; timeout = min(2*timeout, time.Second) {
		conn, err := (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), "tcp", address)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
