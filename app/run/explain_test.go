package run

import (
	"net/netip"
	"slices"
	"testing"

	"aibox/config"
	"aibox/netguard"
	"aibox/session"
)

func TestAnExplanationRefusesAHostOnlyIfNoneOfItsAddressesIsDialed(t *testing.T) {
	spec := &session.Spec{Run: config.Run{Network: "allowlist", Allow: []string{"example.org", "8.8.4.4"}}}
	check := func(policy *netguard.Matcher, port uint16, found []netip.Addr) []netguard.AddressVerdict {
		var decided []netguard.AddressVerdict
		for _, addr := range found {
			verdict := policy.DecideAddress(addr.Unmap(), port)
			if addr.Unmap() == netip.MustParseAddr("8.8.4.4") { // an address of this machine
				verdict = netguard.Verdict{Reason: netguard.OwnAddress}
			}
			decided = append(decided, netguard.AddressVerdict{Address: addr.Unmap(), Verdict: verdict})
		}
		return decided
	}
	for _, c := range []struct {
		host      string
		addresses []string
		reason    string
		allowed   []bool
	}{
		{"example.org:443", []string{"9.9.9.9"}, "allowed-by-rule", []bool{true}},
		{"example.org:443", []string{"64:ff9b::909:909", "9.9.9.9"}, "allowed-by-rule", []bool{false, true}},
		{"example.org:443", []string{"9.9.9.9", "127.0.0.1"}, "allowed-by-rule", []bool{true, false}},
		{"example.org:443", []string{"10.0.0.1", "127.0.0.1"}, "private-address", []bool{false, false}},
		{"example.org:443", []string{"8.8.4.4"}, "own-address", []bool{false}},
		{"example.org:443", nil, "allowed-by-rule", nil},
		{"8.8.4.4:443", nil, "own-address", nil}, // needs no name resolution
	} {
		d, err := netguard.ParseDestination(c.host)
		if err != nil {
			t.Fatal(err)
		}
		var addresses []netip.Addr
		for _, address := range c.addresses {
			addresses = append(addresses, netip.MustParseAddr(address))
		}
		e, err := Explain(spec, nil, "", d, check, addresses...)
		if err != nil {
			t.Fatal(err)
		}
		var allowed []bool
		for _, address := range e.Addresses {
			allowed = append(allowed, address.Allowed)
		}
		if e.Reason != c.reason || e.Allowed != (c.reason == "allowed-by-rule") || !slices.Equal(allowed, c.allowed) {
			t.Errorf("%s at %v: %+v", c.host, c.addresses, e)
		}
	}
}

// A list in the settings has no effect under the policy local.
func TestTheCommandThatAllowsAHostNamesItOnce(t *testing.T) {
	d, err := netguard.ParseDestination("example.net:443")
	if err != nil {
		t.Fatal(err)
	}
	spec := session.Spec{Agent: "codex"}
	spec.Network, spec.Allow = "local", []string{"npm", "example.net"}
	const want = "aibox run codex --allow=npm --allow=example.net"
	if got := allowCommand(&spec, "", d, netguard.Verdict{Reason: netguard.NoEgress}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheCommandThatUndoesADenialNamesItsEntry(t *testing.T) {
	d, err := netguard.ParseDestination("a.example.net:22")
	if err != nil {
		t.Fatal(err)
	}
	spec := &session.Spec{Agent: "codex", Run: config.Run{Network: "public"}}
	for _, c := range []struct {
		entry, source string
		id            session.ID
		want          string
	}{
		{"a.example.net", session.DeniedLater, "0dq4f-codex", "aibox allow 0dq4f a.example.net"},
		{"*.example.net", session.DeniedLater, "0dq4f-codex", "aibox allow 0dq4f '*.example.net'"},
		{"*", session.DeniedLater, "0dq4f-codex", "aibox allow 0dq4f '*'"},
		{"a.example.net", session.DeniedLater, "", ""},
		{"a.example.net", "your settings", "0dq4f-codex", ""},
	} {
		lists := &session.Lists{Deny: []session.ListEntry{{Pattern: c.entry, Source: c.source}}}
		e, err := Explain(spec, lists, c.id, d, nil)
		if err != nil || e.Allowed || e.Command != c.want {
			t.Errorf("%s (%s) for %q: %q, not %q; %v", c.entry, c.source, c.id, e.Command, c.want, err)
		}
	}
}
