// Command aibox-init is PID 1 of a sandbox, and the watchdog of a session on the host.
//
// As PID 1 it keeps the lifeline to the supervisor, runs the probes, starts the agent,
// forwards its input and output, reaps processes, and ends every process of the sandbox on
// request or when the lifeline is lost. It opens no other connection, unless the supervisor
// asks for one to a port of the sandbox, and reads no file of the agent, except a few small
// ones of its repository. Separate processes do the user's operations on files (see package
// fileserver). For the watchdog see package watchdog.
//
// Programs in the sandbox that do not support proxies can also run it as a client of the
// egress proxy: aibox-init connect PROXY HOST PORT.
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

// exitLost is the exit code of a sandbox whose lifeline was lost.
const exitLost = 70

const (
	// dialLimit is how long the supervisor may take to listen.
	dialLimit = 10 * time.Second
	// redialLimit is the same for the supervisor of a restored sandbox, which listens before
	// the start.
	redialLimit = 3 * time.Second
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launchCommand {
		launch(os.Args[2:], os.Environ())
	}
	if len(os.Args) > 1 && os.Args[1] == launcherCommand {
		awaitProgram()
	}
	if len(os.Args) > 1 && os.Args[1] == watchdog.Command {
		os.Exit(watch())
	}
	if len(os.Args) > 1 && os.Args[1] == connectCommand {
		os.Exit(connect(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == packCommand {
		os.Exit(pack(os.Args[2:], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == unpackCommand {
		os.Exit(unpack(os.Args[2:], os.Stdin, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == filesCommand {
		os.Exit(serveFiles(os.Args[2:]))
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: aibox-init HOST:PORT")
		os.Exit(2)
	}
	os.Exit(run(os.Args[1]))
}

// run runs PID 1 and returns the sandbox's exit code.
func run(address string) int {
	// The agent is root in the same sandbox. It must not read the memory or descriptors of
	// PID 1, and its signals must not end PID 1.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: hiding PID 1 from ptrace:", err)
		return exitLost
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	ignoreLibcSignals()
	// Outside a sandbox, in tests, init must also become the parent of orphans.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

	conn, err := dial(address, dialLimit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "aibox-init: no supervisor:", err)
		return exitLost
	}
	reaper := newReaper()
	go reaper.run(signals)
	srv := newServer(lifeline.NewConn(conn), address, reaper)
	return srv.serve()
}

// dial connects to the supervisor. It retries, because the supervisor's side of the
// network is created while the sandbox starts. The first attempts are short, since an
// unanswered SYN is repeated only after a second.
func dial(address string, limit time.Duration) (net.Conn, error) {
	deadline := time.Now().Add(limit)
	for timeout := 100 * time.Millisecond; ; timeout = min(2*timeout, time.Second) {
		conn, err := (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), "tcp", address)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
