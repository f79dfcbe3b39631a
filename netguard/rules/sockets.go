package rules

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"aibox/netguard"
)

// Sockets are the listening sockets of one session, created in the bridges' namespace and
// bound to one bridge. Every connection that they accept belongs to that session.
type Sockets struct {
	TCP map[int]net.Listener   // by port
	UDP map[int]net.PacketConn // by port

	rejecter *rejecter
}

// newSockets takes ownership of files, in the order of open.
func newSockets(files []*os.File, ports GuardRequest) (*Sockets, error) {
	s := &Sockets{TCP: map[int]net.Listener{}, UDP: map[int]net.PacketConn{}}
	if len(files) != len(ports.TCP)+len(ports.UDP)+1 {
		closeAll(files)
		return nil, errors.New("netguard: the job sent another number of sockets than asked for")
	}
	last := len(files) - 1
	s.rejecter = &rejecter{file: files[last]}
	defer closeAll(files[:last]) // net makes its own copies
	for i, port := range ports.TCP {
		listener, err := net.FileListener(files[i])
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.TCP[port] = listener
	}
	for i, port := range ports.UDP {
		conn, err := net.FilePacketConn(files[len(ports.TCP)+i])
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.UDP[port] = conn
	}
	return s, nil
}

// Refusal describes a packet of the sandbox that the guard has rejected.
type Refusal struct {
	Time     time.Time
	Protocol netguard.Protocol
	Dst      netip.AddrPort // port 0 for protocols without ports
}

// Refuse rejects packets to all other destinations at once, TCP with a reset and the rest
// with an ICMP error, so that a tool in the sandbox fails in milliseconds instead of timing
// out; the kernel sends only about one answer a second. Refuse does not enforce the
// isolation; the two locks do. It passes each packet to log, which can be nil, at most 2000 a
// second, on its own goroutine. It returns when ctx ends or Close is called.
func (s *Sockets) Refuse(ctx context.Context, log func(Refusal)) error {
	return s.rejecter.serve(ctx, log)
}

// Close closes every socket. It is safe to call twice.
func (s *Sockets) Close() error {
	errs := []error{s.rejecter.close()}
	for _, listener := range s.TCP {
		errs = append(errs, listener.Close())
	}
	for _, conn := range s.UDP {
		errs = append(errs, conn.Close())
	}
	for i, err := range errs {
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}
