package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// errUnsupported means that this kernel has no sock_diag.
var errUnsupported = errors.New("sock_diag is not supported")

// diag asks the kernel for one socket at a time (sock_diag(7)). netlink's own SocketGet
// lists all sockets with these ports, whatever their addresses, and misses IPv4 connections
// of IPv6 sockets; so this package builds its own request.
type diag struct{}

const (
	stateListen = 10 // TCP_LISTEN
	// Sizes and offsets of struct inet_diag_req_v2 and inet_diag_msg, linux/inet_diag.h.
	requestSize = 8 + 48
	answerSize  = 4 + 48 + 20
	answerID    = 4
	answerUID   = 4 + 48 + 12
	answerInode = 4 + 48 + 16
)

func (d diag) connected(local, remote netip.AddrPort) (socket, error) {
	s, err := d.find(local, remote)
	if err == nil && (s.listens || s.local != local || s.remote != remote) {
		return socket{}, ErrUnknown // without such a connection the kernel answers with its listener
	}
	return s, err
}

func (d diag) listener(address netip.AddrPort) (socket, error) {
	nowhere := netip.IPv4Unspecified()
	if address.Addr().Is6() {
		nowhere = netip.IPv6Unspecified()
	}
	s, err := d.find(address, netip.AddrPortFrom(nowhere, 0))
	if err == nil && (!s.listens || s.local.Port() != address.Port()) {
		return socket{}, ErrUnknown
	}
	return s, err
}

// find requests one socket by its two addresses.
func (diag) find(local, remote netip.AddrPort) (socket, error) {
	request := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, 0)
	request.AddData(diagRequest{local, remote})
	answers, err := request.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
	switch {
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return socket{}, errUnsupported
	case err != nil:
		return socket{}, fmt.Errorf("%w (%w)", ErrUnknown, err)
	case len(answers) != 1 || len(answers[0]) < answerSize:
		return socket{}, ErrUnknown
	}
	return readDiag(answers[0]), nil
}

// diagRequest is a struct inet_diag_req_v2 for one TCP socket.
type diagRequest struct{ local, remote netip.AddrPort }

// Len returns the request's size in bytes.
func (diagRequest) Len() int { return requestSize }

// Serialize returns the request as the kernel reads it.
func (r diagRequest) Serialize() []byte {
	b := make([]byte, requestSize)
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	if r.local.Addr().Is6() {
		b[0] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0)) // sockets in every state
	id := b[8:]
	binary.BigEndian.PutUint16(id, r.local.Port())
	binary.BigEndian.PutUint16(id[2:], r.remote.Port())
	copy(id[4:20], r.local.Addr().AsSlice())
	copy(id[20:36], r.remote.Addr().AsSlice())
	for i := range 8 {
		id[40+i] = 0xff // INET_DIAG_NOCOOKIE
	}
	return b
}

// readDiag reads a struct inet_diag_msg, of which b holds at least answerSize bytes.
func readDiag(b []byte) socket {
	id := b[answerID:]
	address := func(at, port []byte) netip.AddrPort {
		addr := netip.AddrFrom4([4]byte(at[:4]))
		if b[0] == unix.AF_INET6 {
			addr = netip.AddrFrom16([16]byte(at[:16]))
		}
		return plain(netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port)))
	}
	return socket{
		local:   address(id[4:], id),
		remote:  address(id[20:], id[2:]),
		listens: b[1] == stateListen,
		uid:     binary.NativeEndian.Uint32(b[answerUID:]),
		inode:   uint64(binary.NativeEndian.Uint32(b[answerInode:])),
	}
}
