package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// literalAttacks are spellings of addresses that no policy allows.
var literalAttacks = []string{
	"127.0.0.1:80", "127.1.2.3:80", "0.0.0.0:80", "10.200.200.1:11434", "10.0.2.2:80", "172.17.0.1:80", "192.168.1.1:80", "100.64.0.1:80", "169.254.1.1:80",
	"169.254.169.254:80", "100.100.100.200:80", "168.63.129.16:80", "192.0.0.192:80", "224.0.0.1:80", "255.255.255.255:80", "198.18.0.1:80",
	"[::1]:80", "[::]:80", "[fe80::1]:80", "[fd00::1]:80", "[fd00:ec2::254]:80", "[ff02::1]:80", "[::ffff:10.0.0.1]:80", "[::ffff:7f00:1]:80", "[::ffff:9.9.9.9]:80",
	"[::127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[64:ff9b::10.0.0.1]:80", "[2002:7f00:1::]:80", "[2001::1]:80", "[fe80::1%25lo]:80", "[fe80::1%lo]:80",
	"2130706433:80", "0x7f000001:80", "0x7f.0.0.1:80", "0177.0.0.1:80", "127.1:80", "127.0.1:80", "010.0.0.1:80", "1.2.3.4.:80", "0:80", "0x:80",
	"[127.0.0.1]:80", "[::1:80", "::1:80", "[::1]x:80", "[]:80",
}

func TestNoSpellingOfASpecialAddressIsDialed(t *testing.T) {
	for _, text := range literalAttacks {
		for _, raw := range []string{
			"CONNECT " + text + " HTTP/1.1\r\nHost: " + text + "\r\n\r\n",
			"GET http://" + text + "/ HTTP/1.1\r\nHost: " + text + "\r\n\r\n",
		} {
			w := newWorld(t, netguard.Policy{Mode: netguard.Public}, nil)
			responses := w.say(raw, 1)
			if len(responses) != 1 || responses[0].StatusCode != http.StatusForbidden && responses[0].StatusCode != http.StatusBadRequest {
				t.Errorf("%q: %v", raw, responses)
			}
			if len(w.Dialed())+len(w.Asked()) != 0 || len(w.recorded(Refused)) != 1 {
				t.Errorf("%q: %v was dialed, %v resolved, %v recorded", raw, w.Dialed(), w.Asked(), w.recorded(Refused))
			}
		}
	}
}

func addresses(texts ...string) (addresses []netip.Addr) {
	for _, text := range texts {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return addresses
}

// nameAttacks are addresses that a name resolves to, and those of them that may be dialed.
var nameAttacks = []struct {
	name     string
	resolved []netip.Addr
	dialed   []netip.Addr
	code     string
}{
	{"loopback", addresses("127.0.0.1"), nil, "loopback-address"},
	{"loopback of IPv6", addresses("::1"), nil, "loopback-address"},
	{"private", addresses("10.1.2.3"), nil, "private-address"},
	{"the gateway", addresses("10.200.200.1"), nil, "private-address"},
	{"metadata", addresses("169.254.169.254"), nil, "metadata-address"},
	{"metadata of IPv6", addresses("fd00:ec2::254"), nil, "metadata-address"},
	{"mapped loopback", addresses("::ffff:127.0.0.1"), nil, "loopback-address"},
	{"loopback behind NAT64", addresses("64:ff9b::7f00:1"), nil, "embedded-address"},
	{"loopback in 6to4", addresses("2002:7f00:1::"), nil, "embedded-address"},
	{"all zeros", addresses("0.0.0.0"), nil, "reserved-address"},
	{"multicast", addresses("239.1.1.1"), nil, "multicast-address"},
	{"an address with a zone", []netip.Addr{netip.MustParseAddr("2606:4700::1").WithZone("lo")}, nil, "reserved-address"},
	{"several that are private", addresses("10.0.0.1", "192.168.0.1", "fd00::1"), nil, "private-address"},
	{"private before public", addresses("10.0.0.1", "11.11.1.1"), addresses("11.11.1.1"), ""},
	{"public before private", addresses("11.11.1.1", "127.0.0.1"), addresses("11.11.1.1"), ""},
	{"NAT64 before public", addresses("64:ff9b::b0b:101", "11.11.1.1"), addresses("11.11.1.1"), ""},
	{"the machine's own address", addresses("11.11.9.9"), nil, "own-address"},
	{"a machine beside this one", addresses("11.11.9.200"), nil, "neighbor-address"},
	{"a machine beside this one, by IPv6", addresses("2606:4700:1:2:ffff::1"), nil, "neighbor-address"},
	{"a machine beside this one before another", addresses("11.11.9.200", "2606:4700:1:2::7", "11.11.1.1"), addresses("11.11.1.1"), ""},
	{"a machine beside the end of a tunnel", addresses("11.11.8.2"), addresses("11.11.8.2"), ""},
	{"a machine at the other end of a wide tunnel", addresses("12.0.0.1"), addresses("12.0.0.1"), ""},
	{"an address that is denied", addresses("11.11.6.6"), nil, "denied-by-rule"},
	{"a denied address before another", addresses("11.11.6.6", "11.11.1.1"), addresses("11.11.1.1"), ""},
}

func TestEveryAddressOfANameIsChecked(t *testing.T) {
	for _, attack := range nameAttacks {
		for _, raw := range []string{"CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n"} {
			policy := attackPolicy(t)
			deny, err := netguard.ParseDeny("11.11.6.6")
			if err != nil {
				t.Fatal(err)
			}
			policy.Deny = append(policy.Deny, netguard.Rule{Pattern: deny, Source: "--deny"})
			w := newWorld(t, policy, nil)
			w.proxy.dialer.own.list = func() ([]net.Addr, error) {
				return []net.Addr{
					&net.IPNet{IP: net.IPv4(11, 11, 9, 9), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.IPv4(11, 11, 8, 1), Mask: net.CIDRMask(32, 32)},
					&net.IPNet{IP: net.IPv4(13, 1, 1, 1), Mask: net.CIDRMask(5, 32)}, &net.IPNet{IP: net.ParseIP("2606:4700:1:2::9"), Mask: net.CIDRMask(64, 128)},
				}, nil
			}
			w.Name("good.example.org", attack.resolved...)
			w.say(raw, 1) // the addresses that may be dialed refuse connections
			var dialed []netip.Addr
			w.mu.Lock()
			for _, address := range w.Dialed() {
				dialed = append(dialed, address.Addr())
			}
			w.mu.Unlock()
			if !slices.Equal(dialed, attack.dialed) {
				t.Errorf("%s: %v were dialed, want %v", attack.name, dialed, attack.dialed)
			}
			if attack.code != "" && w.code() != attack.code {
				t.Errorf("%s: refused for %q, want %q", attack.name, w.code(), attack.code)
			}
			// The user listed the host, so the answer says why that does not help.
			if explained := w.recorded(Refused); attack.code != "" && (explained[0].Hint == "") != (attack.code == "denied-by-rule") {
				t.Errorf("%s: the hint is %q", attack.name, explained[0].Hint)
			}
		}
	}
}

// nat64Network is a resolver of a network with these addresses for ipv4only.arpa.
type nat64Network struct {
	*world
	probes atomic.Int32
	shows  []netip.Addr
	err    error
}

func (n *nat64Network) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host != "ipv4only.arpa." {
		return n.world.LookupNetIP(ctx, network, host)
	}
	n.probes.Add(1)
	if _, limited := ctx.Deadline(); network != "ip6" || !limited {
		return nil, errors.New("the lookup is for IPv4, or has no end")
	}
	return n.shows, n.err
}

// A network can translate addresses of a prefix of its own to IPv4, private ones too.
func TestAddressesOfTheNetworksOwnNAT64AreNotDialed(t *testing.T) {
	for name, c := range map[string]struct {
		shows, resolved, dialed []netip.Addr
		err                     error
		probes                  int32
	}{
		"96":                {addresses("2606:4700:64::c000:aa"), addresses("2606:4700:64::10.0.0.5"), nil, nil, 1},
		"96, other address": {addresses("2606:4700:64::c000:ab"), addresses("2606:4700:64::a9fe:a9fe"), nil, nil, 1},
		"64":                {addresses("2606:4700:0:64:c0:0:aa00:0"), addresses("2606:4700:0:64:a:0:500:0"), nil, nil, 1},
		"56":                {addresses("2606:4700:0:64c0:0:aa::"), addresses("2606:4700:0:640a:0:5::"), nil, nil, 1},
		"48":                {addresses("2606:4700:64:c000:0:aa00::"), addresses("2606:4700:64:a00:0:500::"), nil, nil, 1},
		"40":                {addresses("2606:4700:64c0:0:aa::"), addresses("2606:4700:640a:0:5::"), nil, nil, 1},
		"32":                {addresses("2606:4700:c000:aa::"), addresses("2606:4700:a00:5::"), nil, nil, 1},
		"before a real one": {addresses("2606:4700:64::c000:aa"), addresses("2606:4700:64::10.0.0.5", "2606:4700:65::1"), addresses("2606:4700:65::1"), nil, 1},
		"only IPv4":         {addresses("2606:4700:64::c000:aa"), addresses("11.11.1.1"), addresses("11.11.1.1"), nil, 0},
		"none":              {nil, addresses("2606:4700:64::10.0.0.5"), addresses("2606:4700:64::10.0.0.5"), &net.DNSError{IsNotFound: true}, 1},
		"no answer":         {nil, addresses("2606:4700:64::10.0.0.5"), addresses("2606:4700:64::10.0.0.5"), &net.DNSError{IsTimeout: true}, 1},
		"a foreign answer":  {addresses("2606:4700:64::1", "192.0.0.170"), addresses("2606:4700:64::10.0.0.5"), addresses("2606:4700:64::10.0.0.5"), nil, 1},
	} {
		n := &nat64Network{shows: c.shows, err: c.err}
		n.world = newWorld(t, attackPolicy(t), func(config *Config) { config.Resolver = n })
		n.Name("good.example.org", c.resolved...)
		for range 2 {
			n.say("CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", 1) // the addresses that may be dialed refuse connections
		}
		var dialed []netip.Addr
		for _, address := range n.Dialed() {
			dialed = append(dialed, address.Addr())
		}
		if !slices.Equal(dialed, slices.Repeat(c.dialed, 2)) || n.probes.Load() != c.probes {
			t.Errorf("%s: %v were dialed, want %v twice; %d lookups of the prefix", name, dialed, c.dialed, n.probes.Load())
		}
		if refused := n.recorded(Refused); c.dialed == nil && refused[0].Code != "embedded-address" {
			t.Errorf("%s: refused for %q", name, refused[0].Code)
		}
	}
}

func TestAFailedLookupKeepsTheKnownNAT64(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &nat64Network{shows: addresses("2606:4700:64::c000:aa")}
		var known nat64
		inside := func() bool {
			time.Sleep(2 * nat64For)
			known.contains(t.Context(), n, netip.MustParseAddr("2606:4700:64::1"))
			synctest.Wait()
			return known.knows(netip.MustParseAddr("2606:4700:64::1"))
		}
		for _, failure := range []error{nil, errors.New("no answer")} {
			n.err = failure
			if !inside() {
				t.Errorf("%v: its address counts as another", failure)
			}
			n.shows = nil
		}
		n.err = &net.DNSError{IsNotFound: true}
		if inside() {
			t.Error("a network without NAT64 has its prefix")
		}
	})
}

// silentNetwork is a resolver of a network that drops queries for ipv4only.arpa.
type silentNetwork struct{}

func (silentNetwork) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if host != "ipv4only.arpa." {
		return addresses("2606:4700::1"), nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestConnectionsWaitOnlyForTheFirstLookupOfTheNAT64(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known nat64
		waits := func(ctx context.Context) time.Duration {
			began := time.Now()
			known.contains(ctx, silentNetwork{}, netip.MustParseAddr("2606:4700::1"))
			return time.Since(began)
		}
		short, cancel := context.WithTimeout(t.Context(), nat64Timeout/4)
		defer cancel()
		var together sync.WaitGroup
		for ctx, want := range map[context.Context]time.Duration{t.Context(): nat64Timeout, short: nat64Timeout / 4} {
			together.Go(func() {
				if waited := waits(ctx); waited != want {
					t.Errorf("a connection waits for %v, not %v", waited, want)
				}
			})
		}
		together.Wait()
		time.Sleep(2 * nat64For)
		if waited := waits(t.Context()); waited != 0 {
			t.Errorf("a connection waits for %v although a lookup has ended", waited)
		}
		time.Sleep(nat64Timeout)
	})
}

// Otherwise the user reads that a name leads to an address which no list can allow.
func TestAConnectionThatEndsDuringTheLookupOfTheNAT64IsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialer{resolver: silentNetwork{}, own: ownAddresses{list: func() ([]net.Addr, error) { return nil, nil }}, nat64: &nat64{}, timeout: nat64Timeout / 2}
		allow := func(netip.Addr) netguard.Verdict { return netguard.Verdict{Allowed: true} }
		_, _, err := d.dial(t.Context(), egresstest.Destination(t, "good.example.org:443"), allow)
		if err == nil || err.Error() != "no connection in 500ms" {
			t.Errorf("%v", err)
		}
		time.Sleep(nat64Timeout)
	})
}

func TestOwnAddressesThatCannotBeReadAllowNothing(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	w.proxy.dialer.own.list = func() ([]net.Addr, error) { return nil, errors.New("no netlink") }
	w.Route("good.example.org", 80, "127.0.0.1:1")
	w.say("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"\r\n", 1)
	if len(w.Dialed()) != 0 || w.code() != "own-address" {
		t.Errorf("%v was dialed, refused for %q", w.Dialed(), w.code())
	}
}

// rebinder is a resolver that returns a public address first and a private one after that.
type rebinder struct{ asked atomic.Int32 }

func (r *rebinder) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if r.asked.Add(1) == 1 {
		return []netip.Addr{egresstest.PublicAddress}, nil
	}
	return addresses("127.0.0.1"), nil
}

func TestANameThatChangesItsAddressGainsNothing(t *testing.T) {
	resolver := &rebinder{}
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Resolver = resolver })
	good := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	w.Route("good.example.org", 80, good.address())
	request := "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n"
	responses := w.say(request+request+request, 3)
	if len(responses) != 3 || responses[0].StatusCode != http.StatusOK || responses[1].StatusCode != http.StatusForbidden {
		t.Fatalf("%v", responses)
	}
	if len(w.Dialed()) != 1 || w.Dialed()[0].Addr() != egresstest.PublicAddress || resolver.asked.Load() != 3 {
		t.Errorf("%v was dialed after %d questions", w.Dialed(), resolver.asked.Load())
	}
}

// TestTheSocketsAddressIsChecked uses no fakes: the second lock is sufficient by itself.
func TestTheSocketsAddressIsChecked(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	d := dialer{timeout: time.Second}
	conn, err := d.connectTo(t.Context(), listener.Addr().(*net.TCPAddr).AddrPort())
	if err == nil {
		conn.Close()
		t.Error("connected to a loopback address")
	}
	checked := netip.MustParseAddrPort("9.9.9.9:443")
	if err := checkSocket("9.9.9.9:443", checked); err != nil {
		t.Error(err)
	}
	for _, actual := range []string{"8.8.8.8:443", "9.9.9.9:80", "", "example.org:443"} {
		if checkSocket(actual, checked) == nil {
			t.Errorf("a socket to %q passes as one to %v", actual, checked)
		}
	}
}

// lookups is a resolver that notes what it is asked.
type lookups struct{ names []string }

func (l *lookups) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	l.names = append(l.names, name)
	return []netip.Addr{netip.MustParseAddr("9.9.9.9")}, nil
}

func TestANameIsLookedUpWithoutSearchDomains(t *testing.T) {
	host, err := netguard.ParseHost("good.example.org")
	if err != nil {
		t.Fatal(err)
	}
	var asked lookups
	d := dialer{resolver: &asked}
	if _, err := d.resolve(t.Context(), host); err != nil || !slices.Equal(asked.names, []string{"good.example.org."}) {
		t.Errorf("%v, %q", err, asked.names)
	}
}

func TestAConnectionThatWasNotDecidedIsNotDialed(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	for _, ctx := range []context.Context{t.Context(), context.WithValue(t.Context(), flowKey{}, &flow{to: netguard.Destination{Port: 80}})} {
		if _, err := w.proxy.dialForTransport(ctx, "tcp", "evil.example.net:80"); err == nil || len(w.Asked())+len(w.Dialed()) != 0 {
			t.Errorf("%v, %v, %v", err, w.Asked(), w.Dialed())
		}
	}
}

func TestATunnelsConnectionIsForItsDestinationAlone(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	own, foreign := egresstest.Destination(t, "good.example.org:80"), egresstest.Destination(t, "other.example.org:80")
	ctx := context.WithValue(t.Context(), tunnelKey{}, &tunnel{flow: &flow{to: own}, upstream: &spare{conn: near}})
	for _, other := range []netguard.Destination{{Host: own.Host, Port: 443}, foreign} {
		if conn, _ := takeSpare(ctx, other); conn != nil {
			t.Errorf("%v gets the connection to %v", other, own)
		}
	}
	if conn, _ := takeSpare(ctx, own); conn != near {
		t.Error("the tunnel's own destination does not get it")
	}
}

func TestBothFamiliesAreTried(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, hello)
	w.Name("good.example.org", addresses("2606:4700::1", "2606:4700::2", "11.11.1.1")...)
	w.RouteAddress(netip.MustParseAddrPort("11.11.1.1:80"), good.address())
	responses := w.say("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"\r\n", 1)
	if len(responses) != 1 || responses[0].StatusCode != http.StatusOK {
		t.Fatal(responses)
	}
	if w.Dialed()[1] != netip.MustParseAddrPort("11.11.1.1:80") {
		t.Errorf("%v were tried", w.Dialed())
	}
	if events := w.recorded(Allowed); len(events) != 1 || events[0].Address != netip.MustParseAddr("11.11.1.1") {
		t.Errorf("recorded %v", events)
	}
}

func TestAnExplanationOfAddressesDecidesAsTheDialerDoes(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var mine []netip.Addr
	for _, address := range own {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			mine = append(mine, prefix.Addr())
		}
	}
	policy := netguard.NewMatcher(attackPolicy(t))
	for _, found := range append([][]netip.Addr{mine, addresses("10.0.0.1", "11.11.1.1"), addresses("::ffff:11.11.1.1"), slices.Repeat(addresses("11.11.1.1"), maxAddresses+1)}, mine) {
		d := dialer{own: ownAddresses{list: net.InterfaceAddrs}, nat64: &nat64{}}
		allowed, _ := d.filter(t.Context(), candidates(found), func(addr netip.Addr) netguard.Verdict { return policy.DecideAddress(addr, 443) })
		var explained []netip.Addr
		for _, decided := range new(Decider).Decide(policy, 443, found) {
			if decided.Verdict.Allowed {
				explained = append(explained, decided.Address)
			}
		}
		if !slices.Equal(allowed, explained) {
			t.Errorf("%v: %v would be dialed, and %v explained", found, allowed, explained)
		}
	}
}

func TestTheRefusalOfAMachineBesideThisOneSaysThatNoListHelps(t *testing.T) {
	w := newWorld(t, egresstest.Allowlist(t, "11.11.9.200"), nil)
	w.proxy.dialer.own.list = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(11, 11, 9, 9), Mask: net.CIDRMask(24, 32)}}, nil
	}
	w.say("CONNECT 11.11.9.200:443 HTTP/1.1\r\n\r\n", 1)
	if e := waitFor(t, w, Refused); e.Code != "neighbor-address" || !strings.Contains(e.Hint, "no list can allow") {
		t.Errorf("%+v", e)
	}
}

func TestTheUserIsNotAskedAboutAddressesOfTheKnownNAT64(t *testing.T) {
	u := &user{answers: make(chan Answer, 2)}
	u.answers <- Answer{Allowed: true}
	u.answers <- Answer{Allowed: true}
	n := &nat64Network{shows: addresses("2606:4700:64::c000:aa")}
	n.world = newWorld(t, attackPolicy(t), func(c *Config) { c.Resolver, c.Ask = n, u.ask })
	for range 2 { // only the first connection looks up the prefix
		n.say("CONNECT [2606:4700:64::a00:5]:443 HTTP/1.1\r\n\r\n", 1)
	}
	events := n.recorded(Refused)
	if u.questions() != 1 || len(events) != 2 || events[1].Code != "embedded-address" || len(n.Dialed()) != 0 {
		t.Errorf("asked %v, refused %+v", u.asked, events)
	}
}

// The explanations of all literal addresses need one lookup.
func TestExplanationsShareTheirNAT64(t *testing.T) {
	c := new(Decider)
	c.nat64.refresh, c.nat64.prefixes = time.Now().Add(time.Hour), []netip.Prefix{netip.MustParsePrefix("2606:4700:64::/96")}
	c.nat64.first = make(chan struct{})
	close(c.nat64.first)
	policy := netguard.NewMatcher(netguard.Policy{Mode: netguard.Public})
	if v := c.Decide(policy, 443, addresses("2606:4700:64::1")); v[0].Verdict.Reason != netguard.EmbeddedAddress {
		t.Errorf("%+v", v)
	}
}

func TestAddressesThatTheUserNamesAsTheirOwnAreNeverReachedOrAskedAbout(t *testing.T) {
	u := &user{answers: make(chan Answer, 10)}
	for range 10 {
		u.answers <- Answer{Allowed: true}
	}
	policy := attackPolicy(t)
	listed, err := netguard.ParseAllow("11.11.7.1")
	if err != nil {
		t.Fatal(err)
	}
	policy.Allow = append(policy.Allow, netguard.Rule{Pattern: listed, Source: "--allow"})
	w := newWorld(t, policy, func(c *Config) {
		c.Ask, c.Own = u.ask, []netip.Prefix{netip.MustParsePrefix("11.11.7.0/24"), netip.MustParsePrefix("2606:4700::9/128")}
	})
	w.Name("good.example.org", addresses("11.11.7.2", "2606:4700::9")...)
	for _, to := range []string{"good.example.org:443", "11.11.7.1:443", "11.11.7.3:443", "[2606:4700::9]:443"} {
		responses := w.say("CONNECT "+to+" HTTP/1.1\r\n\r\n", 1)
		events := w.recorded(Refused)
		if len(responses) != 1 || responses[0].StatusCode != http.StatusForbidden || events[len(events)-1].Code != "own-address" {
			t.Errorf("%s: %v, %+v", to, responses, events)
		}
	}
	if u.questions() != 0 || len(w.Dialed()) != 0 {
		t.Errorf("asked %v, dialed %v", u.asked, w.Dialed())
	}
}
