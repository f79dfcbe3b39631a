package ports

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// AnyLocal is the Local of a Request that does not name a port of the host.
const AnyLocal = -1

// Request names a port of the sandbox and its address on the host.
type Request struct {
	Port    uint16
	Address netip.Addr // of the host's loopback; the zero value is 127.0.0.1
	// Local is the port of the host; 0 means any free port. AnyLocal means the same number as
	// Port if it is free and needs no privilege, else any free port.
	Local int
}

// Check checks a request. An invalid one is a Usage fault.
func (r Request) Check() error {
	switch {
	case r.Port == 0:
		return fault.New(fault.Usage, "a port is a number from 1 to 65535")
	case r.Local < AnyLocal || r.Local > 65535:
		return fault.New(fault.Usage, "%d is not a port: use a number from 1 to 65535, or 0 for a free one", r.Local)
	case r.Address.IsValid() && !r.Address.IsLoopback():
		return fault.New(fault.Usage, "a port opens only on this machine's loopback, not on %s: other machines could reach the sandbox there", r.Address).
			Hint("from another machine, use ssh -L to this one")
	}
	return nil
}

// listen opens the listener of a request, on the host.
func (r Request) listen(ctx context.Context) (net.Listener, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	address := r.Address
	if !address.IsValid() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	local := r.Local
	if local == AnyLocal {
		local = int(r.Port)
	}
	listener, err := listenOn(ctx, address, local)
	if err != nil && r.Local == AnyLocal {
		listener, err = listenOn(ctx, address, 0)
	}
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, fault.New(fault.Usage, "port %d on %s is taken by another program", local, address).Hint("use --local 0 for a free port")
	case errors.Is(err, unix.EACCES):
		return nil, fault.New(fault.Usage, "port %d is privileged: only root may listen there", local).Hint("use --local 0 for a free port, or a number of 1024 or above")
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return nil, fault.New(fault.Usage, "this machine has no address %s", address)
	case err != nil:
		return nil, fault.New(fault.Environment, "cannot listen on port %d of %s: %w", local, address, err)
	}
	return listener, nil
}

func listenOn(ctx context.Context, address netip.Addr, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address.String(), strconv.Itoa(port)))
}
