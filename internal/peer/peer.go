// Package peer finds the user who runs the process at the other end of a connection within
// this machine. It asks the kernel, for TCP through sock_diag or /proc/net, and does not trust
// the other end. It never guesses: if the kernel does not report a user, that is an error.
package peer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// ErrUnknown means that the kernel does not report who is at the other end: the
// connection leads to another machine or network namespace, or has ended.
var ErrUnknown = errors.New("the system does not report which user is at the other end")

// socket is one TCP socket as the kernel describes it.
type socket struct {
	local, remote netip.AddrPort
	listens       bool
	uid           uint32
	// inode is 0 while no process owns the socket: before it is accepted, and after it was
	// closed.
	inode uint64
}

// table finds sockets. A missing socket is ErrUnknown.
type table interface {
	// connected returns the socket with exactly these addresses.
	connected(local, remote netip.AddrPort) (socket, error)
	// listener returns the socket that accepts connections to address.
	listener(address netip.AddrPort) (socket, error)
}

// Local reports whether both ends of the connection are on this machine.
func Local(conn net.Conn) bool {
	here, there, err := ends(conn)
	return err == nil && (there.Addr().IsLoopback() || there.Addr() == here.Addr())
}

// Owner returns the user id of the process at the other end of conn, a TCP connection
// within this machine, in this process's user namespace. Errors wrap ErrUnknown.
//
// It is the user of the process that has accepted the connection, and does not change if the
// listening socket does. Before that it is the user of the listener: when a listening socket
// is closed, the kernel resets connections that were not accepted, so no other process can
// take over the connection.
func Owner(conn net.Conn) (uint32, error) {
	here, there, err := ends(conn)
	if err != nil {
		return 0, err
	}
	uid, err := owner(diag{}, here, there)
	if errors.Is(err, errUnsupported) {
		return owner(procfs{"/proc/net"}, here, there)
	}
	return uid, err
}

// Listener returns the user id of the process that listens on a TCP address of this
// machine now.
// Errors wrap ErrUnknown. Use Owner for a connection: the listener may change.
func Listener(address netip.AddrPort) (uint32, error) {
	s, err := diag{}.listener(address)
	if errors.Is(err, errUnsupported) {
		s, err = procfs{"/proc/net"}.listener(address)
	}
	return s.uid, err
}

// owner is Owner with one table.
func owner(t table, here, there netip.AddrPort) (uint32, error) {
	before, err := t.connected(there, here)
	if err != nil || before.inode != 0 {
		return before.uid, err
	}
	listening, err := t.listener(there)
	if err != nil {
		return 0, err
	}
	// The connection waited in this listener's queue if it is still waiting there.
	after, err := t.connected(there, here)
	if err != nil || after.inode != 0 {
		return after.uid, err
	}
	return listening.uid, nil
}

// ends returns both addresses of a TCP connection, IPv4 always as such.
func ends(conn net.Conn) (here, there netip.AddrPort, err error) {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	remote, both := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !both {
		return here, there, fmt.Errorf("%w: it is not a TCP connection", ErrUnknown)
	}
	return plain(local.AddrPort()), plain(remote.AddrPort()), nil
}

// plain returns the address without parts that may differ between a socket and its peer:
// the IPv6 form of an IPv4 address, and a zone.
func plain(address netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(address.Addr().Unmap().WithZone(""), address.Port())
}
