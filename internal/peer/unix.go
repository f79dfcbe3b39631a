package peer

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnUser is a listener on a Unix socket that accepts connections of this user's processes
// only. It closes the others.
type OwnUser struct{ net.Listener }

// Accept waits for the next connection of this user.
func (l OwnUser) Accept() (net.Conn, error) { return acceptFrom(l.Listener, os.Getuid()) }

// acceptFrom waits for the next connection of a user.
func acceptFrom(listener net.Listener, uid int) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return nil, err
		}
		if unixUID(conn) == uid {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// unixUID returns the user id of the process at the other end, or -1 if it is unknown.
func unixUID(conn net.Conn) int {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return -1
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return -1
	}
	uid := -1
	err = control.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	if err != nil {
		return -1
	}
	return uid
}
