package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"aibox/netguard"
)

// dialer connects to public addresses only.
type dialer struct {
	resolver Resolver
	connect  func(context.Context, netip.AddrPort) (net.Conn, error)
	own      ownAddresses
	nat64    *nat64
	timeout  time.Duration
}

// addressCheck decides about one address of a host that is allowed by name.
type addressCheck func(netip.Addr) netguard.Verdict

// fallbackDelay is how long a connection attempt runs alone before the next address is
// tried beside it (RFC 8305, section 5).
const fallbackDelay = 250 * time.Millisecond

// maxAddresses is how many addresses of one host are tried.
const maxAddresses = 16

// dial resolves the host of d once, checks every address, and connects to one of those that
// pass. A host may have addresses that are not allowed, such as those that a NAT64 gateway
// adds. They are never dialed. If none passes, the error is the *refusal of the first.
func (d *dialer) dial(ctx context.Context, to netguard.Destination, check addressCheck) (net.Conn, netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, fmt.Errorf("no connection in %v", d.timeout))
	defer cancel()
	addresses, err := d.resolve(ctx, to.Host)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	allowed, refused := d.filter(ctx, addresses, check)
	if ctx.Err() != nil {
		return nil, netip.Addr{}, context.Cause(ctx) // a refusal could be due to that
	}
	if len(allowed) == 0 {
		if _, literal := to.Host.Address(); !literal && refused.verdict.Reason != netguard.DeniedByRule {
			refused.hint = "the name leads to such an address from this machine, and no list can allow it"
		}
		return nil, addresses[0], refused
	}
	return d.connectFirst(ctx, allowed, to.Port)
}

// resolve returns at least one address.
func (d *dialer) resolve(ctx context.Context, host netguard.Host) ([]netip.Addr, error) {
	if addr, ok := host.Address(); ok {
		return []netip.Addr{addr}, nil
	}
	// The final dot keeps the resolver from trying its search domains, which would be names
	// other than the checked one.
	found, err := d.resolver.LookupNetIP(ctx, "ip", host.Name()+".")
	if err == nil && len(found) == 0 {
		err = errors.New("the name has no address")
	}
	return candidates(found), err
}

// candidates returns those of the found addresses that are checked.
func candidates(found []netip.Addr) []netip.Addr {
	var addresses []netip.Addr
	for _, addr := range found[:min(len(found), maxAddresses)] {
		addresses = append(addresses, addr.Unmap()) // the resolver maps addresses of A records
	}
	return addresses
}

// Decider decides about addresses like the proxies on this machine. It looks up the network's NAT64
// for all of them. Its zero value can be used. It is safe for concurrent use.
type Decider struct{ nat64 nat64 }

// Decide returns what a proxy decides about the addresses that it found for a host, which policy allows
// by name: it connects to one of those that are allowed, and refuses the host if there are none, for
// the reason of the first. more is Config.Own.
func (c *Decider) Decide(policy *netguard.Matcher, port uint16, found []netip.Addr, more ...netip.Prefix) []netguard.AddressVerdict {
	d := dialer{resolver: net.DefaultResolver, own: ownAddresses{list: net.InterfaceAddrs, more: more}, nat64: &c.nat64}
	return d.decide(context.Background(), candidates(found), func(addr netip.Addr) netguard.Verdict { return policy.DecideAddress(addr, port) })
}

// filter returns the addresses that pass, or the refusal of the first that does not.
func (d *dialer) filter(ctx context.Context, addresses []netip.Addr, check addressCheck) (allowed []netip.Addr, refused *refusal) {
	for _, decided := range d.decide(ctx, addresses, check) {
		if decided.Verdict.Allowed {
			allowed = append(allowed, decided.Address)
		} else if refused == nil {
			refused = refuse(decided.Verdict)
			refused.address = decided.Address
		}
	}
	return allowed, refused
}

// decide returns the decision about each address. One of this machine or of its networks, or one that
// leads to an IPv4 address, is refused whatever check says.
func (d *dialer) decide(ctx context.Context, addresses []netip.Addr, check addressCheck) []netguard.AddressVerdict {
	decided := make([]netguard.AddressVerdict, len(addresses))
	for i, addr := range addresses {
		verdict := check(addr)
		if verdict.Allowed {
			if reason := d.own.check(addr); reason != 0 {
				verdict = netguard.Verdict{Reason: reason}
			} else if d.nat64.contains(ctx, d.resolver, addr) {
				verdict = netguard.Verdict{Reason: netguard.EmbeddedAddress}
			}
		}
		decided[i] = netguard.AddressVerdict{Address: addr, Verdict: verdict}
	}
	return decided
}

// connectFirst races connection attempts, IPv6 and IPv4 in turn.
func (d *dialer) connectFirst(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	if len(addresses) == 1 {
		conn, err := d.connectTo(ctx, netip.AddrPortFrom(addresses[0], port))
		return conn, addresses[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		addr netip.Addr
		err  error
	}
	results := make(chan result)
	var running int
	start := func(addr netip.Addr) {
		running++
		go func() {
			conn, err := d.connectTo(ctx, netip.AddrPortFrom(addr, port))
			select {
			case results <- result{conn, addr, err}:
			case <-ctx.Done():
				if conn != nil {
					conn.Close()
				}
			}
		}()
	}
	addresses = interleave(addresses)
	var problem error
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case r := <-results:
			running--
			if r.err == nil {
				return r.conn, r.addr, nil
			}
			if problem == nil {
				problem = r.err
			}
		case <-ctx.Done():
			return nil, netip.Addr{}, context.Cause(ctx)
		}
		if len(addresses) > 0 {
			start(addresses[0])
			addresses = addresses[1:]
			timer.Reset(fallbackDelay)
		} else if running == 0 {
			return nil, netip.Addr{}, problem
		}
	}
}

// connectTo connects to an address that was checked. The check of the socket's address just
// before it connects is a second lock: it works even if the code above has a mistake.
func (d *dialer) connectTo(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	if d.connect != nil {
		return d.connect(ctx, address)
	}
	plain := net.Dialer{ControlContext: func(_ context.Context, _, actual string, _ syscall.RawConn) error {
		return checkSocket(actual, address)
	}}
	return plain.DialContext(ctx, "tcp", address.String())
}

// checkSocket returns an error unless actual, the address that a socket is about to connect
// to, is the checked one and public.
func checkSocket(actual string, checked netip.AddrPort) error {
	if to, err := netip.ParseAddrPort(actual); err != nil || to != checked || netguard.CheckAddress(to.Addr()) != 0 {
		return fmt.Errorf("%s is not the address that was checked", actual)
	}
	return nil
}

// interleave alternates between the families, beginning with that of the first address.
func interleave(addresses []netip.Addr) []netip.Addr {
	var first, second, mixed []netip.Addr
	for _, addr := range addresses {
		if addr.Is4() == addresses[0].Is4() {
			first = append(first, addr)
		} else {
			second = append(second, addr)
		}
	}
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			mixed = append(mixed, first[i])
		}
		if i < len(second) {
			mixed = append(mixed, second[i])
		}
	}
	return mixed
}

// ownAddresses holds the addresses of this machine, and the networks of its interfaces. Through a
// public one, a sandbox could reach services that the machine's firewall opens only to itself, or
// the router's only to that network.
type ownAddresses struct {
	list func() ([]net.Addr, error) // net.InterfaceAddrs
	more []netip.Prefix             // that no interface has

	mu       sync.Mutex
	known    map[netip.Addr]struct{}
	networks []netip.Prefix
	refresh  time.Time
}

// ownFor is how long the addresses count as current.
const ownFor = 5 * time.Second

// check returns why addr is refused as an address of this machine or of its networks, or 0. If the
// machine's addresses cannot be read, every address counts as one.
func (o *ownAddresses) check(addr netip.Addr) netguard.Reason {
	if containsAddress(o.more, addr) {
		return netguard.OwnAddress
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); o.known == nil || now.After(o.refresh) {
		addresses, err := o.list()
		if err != nil {
			return netguard.OwnAddress
		}
		o.set(addresses)
		o.refresh = now.Add(ownFor)
	}
	if _, own := o.known[addr]; own {
		return netguard.OwnAddress
	}
	if containsAddress(o.networks, addr) {
		return netguard.NeighborAddress
	}
	return 0
}

// set replaces the addresses and networks. The caller holds o.mu.
func (o *ownAddresses) set(addresses []net.Addr) {
	o.known, o.networks = make(map[netip.Addr]struct{}, len(addresses)), nil
	for _, address := range addresses {
		prefix, ok := address.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(prefix.IP)
		if !ok {
			continue
		}
		ip = ip.Unmap()
		o.known[ip] = struct{}{}
		if bits, size := prefix.Mask.Size(); size == ip.BitLen() && isLocalNetwork(bits, size) {
			o.networks = append(o.networks, netip.PrefixFrom(ip, bits).Masked())
		}
	}
}

// isLocalNetwork reports whether the prefix of an interface's address, with this many bits of size, is
// a network of machines beside this one. A tunnel can have an address with the prefix of much
// of the Internet.
func isLocalNetwork(bits, size int) bool { return bits >= size/4 && bits < size }

func containsAddress(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
