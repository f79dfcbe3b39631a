package ports

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// backlog is the length of the queue of connections that are not accepted yet.
const backlog = maxUnknown

// Pause makes a TCP listener refuse connections, and resets those that are not accepted
// yet. Its Accept fails. It keeps its address if it was bound to a port by number and does
// not use Multipath TCP, like the guard's listeners. A listener that cannot be paused is
// closed.
func Pause(listener net.Listener) {
	if control(listener, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RD) }) != nil {
		_ = listener.Close()
	}
}

// resume makes a paused listener accept connections again.
func resume(listener net.Listener) error {
	return control(listener, func(fd int) error { return unix.Listen(fd, backlog) })
}

// isPaused reports whether Accept failed because the listener was paused.
func isPaused(err error) bool { return errors.Is(err, unix.EINVAL) }

func control(listener net.Listener, do func(fd int) error) error {
	conn, ok := listener.(syscall.Conn)
	if !ok {
		return errors.New("the listener has no socket")
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(err, controlErr)
}
