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
// server finds for it show the prefixes (RFC 7050). Well-known prefixes are forbidden anyway. Its zero
// value knows nothing yet. It is safe for concurrent use.
type nat64 struct {
	mu       sync.Mutex
	prefixes []netip.Prefix
	refresh  time.Time     // when the next lookup is due
	first    chan struct{} // closed when a lookup has ended; nil before one begins
}

const (
	// nat64For is how long the prefixes count as current, and nat64Timeout how long a lookup may take.
	nat64For     = time.Minute
	nat64Timeout = time.Second
)

// contains reports whether addr leads to an IPv4 address. Only the first lookup is waited for. During
// later ones, and if one fails, the prefixes that were known before count: most networks have none, and
// some drop queries for the name. When ctx ends, every address leads to one.
func (n *nat64) contains(ctx context.Context, resolver Resolver, addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	select {
	case <-n.look(resolver):
		return n.knows(addr)
	case <-ctx.Done():
		return true
	}
}

// knows reports whether addr has a prefix that is known already.
func (n *nat64) knows(addr netip.Addr) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return containsAddress(n.prefixes, addr)
}

// look starts a lookup if one is due. It returns a channel that is closed when any lookup has ended.
func (n *nat64) look(resolver Resolver) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first == nil {
		n.first = make(chan struct{})
	}
	if now := time.Now(); now.After(n.refresh) {
		n.refresh = now.Add(nat64For)
		go n.update(resolver) // ends within nat64Timeout
	}
	return n.first
}

func (n *nat64) update(resolver Resolver) {
	ctx, cancel := context.WithTimeout(context.Background(), nat64Timeout) // no connection owns it
	defer cancel()
	found, err := resolver.LookupNetIP(ctx, "ip6", "ipv4only.arpa.")
	n.mu.Lock()
	defer n.mu.Unlock()
	var problem *net.DNSError
	if err == nil || errors.As(err, &problem) && problem.IsNotFound {
		n.prefixes = prefixesIn(found)
	}
	select {
	case <-n.first: // an earlier lookup has closed it
	default:
		close(n.first)
	}
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
