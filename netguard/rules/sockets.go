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

// Sockets are the ends of one session's network: born in the bridges' namespace
// and bound to one bridge, held by this process. Connections accepted from them
// are that session's and no other's.
type Sockets struct {
	TCP map[int]net.Listener   // by port
	UDP map[int]net.PacketConn // by port

	rejecter *rejecter
}

// newSockets takes over files, in the order that open made them.
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

// Refusal is one packet of the sandbox that the guard turned away.
type Refusal struct {
	Time     time.Time
	Protocol netguard.Protocol
	Dst      netip.AddrPort // port 0 for protocols without ports
}

// Refuse answers whatever the sandbox sends to any other place at once (TCP with a
// reset, the rest with an ICMP error), so that a tool inside fails in
// milliseconds instead of at a timeout; the kernel's own answers are limited to
// about one a second. It does not enforce the isolation; the two locks do. Each
// attempt is passed to log (may be nil), at most 2000 a second, from the goroutine that
// Refuse runs in. It returns when ctx ends or Close is
// called.
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
