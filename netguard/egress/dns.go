// Package egress holds what a box may ask of the outside. For now that is names:
// a resolver that knows the guard's own and refuses all others at once. It never
// asks another resolver, so no name leaves the machine.
package egress

import (
	"context"
	"net"
	"time"
)

// Question is one name that a box asked for and did not get.
type Question struct {
	Time time.Time
	Name string // escaped, at most 256 bytes, without the trailing dot
	Type string // A, AAAA, TXT, … or TYPE123
}

// DNS answers the guard's names (netguard.Names) with netguard.Address and every
// other name with NXDOMAIN. The zero value works and logs nothing.
type DNS struct {
	// Log is told each refused name, from any goroutine; questions beyond what the
	// rate bound allows are answered but not told.
	Log func(Question)
}

// Serve answers on the sockets, either of which may be nil, until ctx ends; it
// closes both. The error is nil when ctx ended.
func (d DNS) Serve(ctx context.Context, udp net.PacketConn, tcp net.Listener) error {
	return d.serve(ctx, udp, tcp)
}
