// Package testnet has hosts on this machine whose addresses look public, so that the egress
// proxy connects to them. setup.sh prepares a machine for it, which scripts/test.sh does.
package testnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Names that resolve to addresses that the proxy never connects to.
const (
	Loopback = "loopback.egress.test"
	Private  = "private.egress.test"
	Metadata = "metadata.egress.test"
	Shared   = "shared.egress.test" // carrier-grade NAT
)

// hosts is how many names there are.
const hosts = 256

// Host is a host that one test has for itself.
type Host struct {
	Name    string // nN.egress.test
	Vendor  string // nN.egress-test.cursor.sh, one of the hosts of Cursor's cloud for aibox
	Address netip.Addr

	t         testing.TB
	listeners map[int]net.Listener
}

// NewHost takes a free host and listens on the ports until the test ends. It fails the test
// if the machine is not prepared.
func NewHost(t testing.TB, ports ...int) *Host {
	t.Helper()
	for _, n := range rand.Perm(hosts) {
		h := &Host{
			Name: fmt.Sprintf("n%d.egress.test", n), Vendor: fmt.Sprintf("n%d.egress-test.cursor.sh", n), Address: netip.AddrFrom4([4]byte{11, 11, 0, byte(n)}),
			t: t, listeners: map[int]net.Listener{},
		}
		err := h.listen(ports)
		if err == nil {
			h.resolve()
			return h
		}
		h.close()
		if !errors.Is(err, unix.EADDRINUSE) {
			t.Fatalf("%v\nthis machine has no hosts for egress tests: run test/testnet/setup.sh as root", err)
		}
	}
	t.Fatal("every host of the egress tests is in use")
	return nil
}

func (h *Host) listen(ports []int) error {
	for _, port := range ports {
		listener, err := net.Listen("tcp", net.JoinHostPort(h.Address.String(), strconv.Itoa(port)))
		if err != nil {
			return err
		}
		h.listeners[port] = listener
	}
	h.t.Cleanup(h.close)
	return nil
}

// resolve fails the test if one of the host's names leads elsewhere.
func (h *Host) resolve() {
	h.t.Helper()
	for _, name := range []string{h.Name, h.Vendor} {
		found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", name)
		if err != nil || len(found) != 1 || found[0].Unmap() != h.Address {
			h.t.Fatalf("%s is %v, not %s (%v): run test/testnet/setup.sh as root", name, found, h.Address, err)
		}
	}
}

// Listener returns the listener of one of the host's ports.
func (h *Host) Listener(port int) net.Listener { return h.listeners[port] }

func (h *Host) close() {
	for _, listener := range h.listeners {
		_ = listener.Close()
	}
}
