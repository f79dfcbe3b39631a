// Package egresstest simulates the Internet for tests of the egress proxy and the packages
// below it: names resolve to public-looking addresses, which are those of the test's
// servers.
package egresstest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
)

// PublicAddress is the first address of the servers of a test.
var PublicAddress = netip.MustParseAddr("11.11.1.1")

// Internet resolves names and dials addresses for a proxy. It is safe for concurrent use.
type Internet struct {
	mu     sync.Mutex
	dialed []netip.AddrPort
	asked  []string
	names  map[string][]netip.Addr
	routes map[netip.AddrPort]string
}

// NewInternet returns an Internet without servers.
func NewInternet() *Internet {
	return &Internet{names: map[string][]netip.Addr{}, routes: map[netip.AddrPort]string{}}
}

// Route makes name:port lead to a server of the test. A name has one address for all its
// ports, and no other name has that address.
func (i *Internet) Route(name string, port uint16, server string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.names[name]) != 1 {
		i.names[name] = []netip.Addr{i.unused()}
	}
	i.routes[netip.AddrPortFrom(i.names[name][0], port)] = server
}

// unused returns the first public address without a server. The caller holds i.mu.
func (i *Internet) unused() netip.Addr {
	used := map[netip.Addr]bool{}
	for route := range i.routes {
		used[route.Addr()] = true
	}
	addr := PublicAddress
	for used[addr] {
		addr = addr.Next()
	}
	return addr
}

// Name makes a name resolve to these addresses.
func (i *Internet) Name(name string, addresses ...netip.Addr) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names[name] = slices.Clone(addresses)
}

// RouteAddress makes an address that of a server of the test.
func (i *Internet) RouteAddress(address netip.AddrPort, server string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.routes[address] = server
}

// Dialed returns the addresses that were dialed.
func (i *Internet) Dialed() []netip.AddrPort {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.dialed)
}

// Asked returns the names that were resolved.
func (i *Internet) Asked() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.asked)
}

// LookupNetIP resolves a name, as net.Resolver does.
func (i *Internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = append(i.asked, host)
	if addresses, ok := i.names[strings.TrimSuffix(host, ".")]; ok {
		return addresses, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Dial connects to the server at an address.
func (i *Internet) Dial(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	i.mu.Lock()
	i.dialed = append(i.dialed, address)
	to, ok := i.routes[address]
	i.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("connection refused by %s", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to)
}

// Serve runs a proxy until the test ends, and returns its address.
func Serve(t testing.TB, proxy interface {
	Serve(ctx context.Context, listener net.Listener) error
},
) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- proxy.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the proxy does not stop")
		}
	})
	return listener.Addr().String()
}

// Destination parses a destination.
func Destination(t testing.TB, text string) netguard.Destination {
	t.Helper()
	d, err := netguard.ParseDestination(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Allowlist returns a policy that allows only these entries.
func Allowlist(t testing.TB, entries ...string) netguard.Policy {
	t.Helper()
	policy := netguard.Policy{Mode: netguard.Allowlist}
	for _, entry := range entries {
		pattern, err := netguard.ParseAllow(entry)
		if err != nil {
			t.Fatal(err)
		}
		policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: "--allow"})
	}
	return policy
}
