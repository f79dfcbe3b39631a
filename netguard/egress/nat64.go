package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// nat64 learns the prefixes of this network's own NAT64, whose addresses lead to any IPv4 address,
// private ones too. The name ipv4only.arpa has only IPv4 addresses, so those of IPv6 that a name
// server finds for it show the prefixes (RFC 7050). Well-known prefixes are forbidden anyway.
type nat64 struct {
	mu       sync.Mutex
	prefixes []netip.Prefix
	refresh  time.Time
}

const (
	// nat64For is how long the prefixes count as current, and nat64Timeout how long a lookup may take.
	nat64For     = time.Minute
	nat64Timeout = time.Second
)

// contains reports whether addr leads to an IPv4 address. If the lookup fails, the prefixes that were
// known before count: most networks have none, and some drop queries for the name.
func (n *nat64) contains(ctx context.Context, resolver Resolver, addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); now.After(n.refresh) {
		lookup, cancel := context.WithTimeout(ctx, nat64Timeout)
		found, err := resolver.LookupNetIP(lookup, "ip6", "ipv4only.arpa.")
		cancel()
		if ctx.Err() != nil {
			return true // nothing is known, and the connection is not wanted anymore
		}
		var problem *net.DNSError
		if err == nil || errors.As(err, &problem) && problem.IsNotFound {
			n.prefixes = prefixesIn(found)
		}
		n.refresh = now.Add(nat64For)
	}
	return containsAddress(n.prefixes, addr)
}

// prefixesIn returns the prefixes in the addresses of ipv4only.arpa: the part before one of its IPv4
// addresses, which has one of six places (RFC 6052, section 2.2).
func prefixesIn(found []netip.Addr) (prefixes []netip.Prefix) {
	for _, addr := range candidates(found) {
		if !addr.Is6() {
			continue
		}
		bytes := addr.As16()
		for _, length := range []int{32, 40, 48, 56, 64, 96} {
			var inside []byte
			for i := length / 8; len(inside) < 4; i++ {
				if i != 8 { // that byte is always 0
					inside = append(inside, bytes[i])
				}
			}
			if inside[0] == 192 && inside[1] == 0 && inside[2] == 0 && (inside[3] == 170 || inside[3] == 171) {
				prefix, _ := addr.Prefix(length) // the length is in range
				prefixes = append(prefixes, prefix)
			}
		}
	}
	return prefixes
}
