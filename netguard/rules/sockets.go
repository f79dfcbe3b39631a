package rules

import (
	"context"
	"net"
	"net/netip"
	"time"

	"aibox/netguard"
)

// Sockets are the ends of one session's network: born in the bridges' namespace
// and bound to one bridge, held by this process. Connections accepted from them
// are that session's and no other's.
type Sockets struct {
	TCP map[int]net.Listener   // by port
	UDP map[int]net.PacketConn // by port

	doorman *doorman
}

// Refusal is one packet of the box that the guard turned away.
type Refusal struct {
	Time     time.Time
	Protocol netguard.Protocol
	Dst      netip.AddrPort // port 0 for protocols without ports
}

// Refuse answers whatever the box sends to any other place at once (TCP with a
// reset, the rest with an ICMP error), so that a tool inside fails in
// milliseconds instead of at a timeout; the kernel's own answers are limited to
// about one a second. It does not keep anything out: the two locks do. Each new
// destination is told to log (may be nil), repeats at most once a second, from
// the one goroutine that Refuse runs in. It returns when ctx ends or Close is
// called.
func (s *Sockets) Refuse(ctx context.Context, log func(Refusal)) error {
	return s.doorman.serve(ctx, log)
}

// Close closes every socket. It is safe to call twice.
func (s *Sockets) Close() error { return s.close() }
