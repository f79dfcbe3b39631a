package main

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helperSocket is the descriptor of a helper's connection to init.
const helperSocket = 3

// helperTime is how long a helper may take to accept what init sends. The agent may have stopped
// or killed it.
const helperTime = time.Second

// helper is a process with init's own program that does a part of its work. It leads its
// own session, and has only a variable of Go's runtime in its environment, if any, and
// /dev/null as its standard streams.
type helper struct {
	pid    int
	status <-chan unix.WaitStatus
	conn   *net.UnixConn
}

// startHelper starts init's program with arguments and an environment, connected by a Unix
// socket of a type.
func startHelper(r *reaper, socket int, env []string, args ...string) (helper, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, socket|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return helper{}, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "helper"), os.NewFile(uintptr(pair[1]), "init")
	defer ours.Close() // FileConn has duplicated it
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return helper{}, err
	}
	defer null.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return helper{}, err
	}
	h := helper{conn: conn.(*net.UnixConn)} //nolint:forcetypeassert // of a Unix socket
	h.pid, h.status, err = r.start(self(), append([]string{"aibox-init"}, args...), &syscall.ProcAttr{
		Dir: "/", Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), theirs.Fd()},
	})
	if err != nil {
		conn.Close()
		return helper{}, err
	}
	return h, nil
}
