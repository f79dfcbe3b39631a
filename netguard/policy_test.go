package netguard

import (
	"net/netip"
	"testing"
)

func rules(t testing.TB, parse func(string) (Pattern, error), source string, entries ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, entry := range entries {
		p, err := parse(entry)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, Rule{p, source})
	}
	return rules
}

func destination(t testing.TB, text string) Destination {
	t.Helper()
	d, err := ParseDestination(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecide(t *testing.T) {
	allow := rules(t, ParseAllow, "--allow", "example.org", "*.example.net", "git.example.org:22", "*.deep.example.com:8443", "any.example.org:*", "9.9.9.9")
	deny := rules(t, ParseDeny, "your settings", "bad.example.net", "*.worse.example.net", "any.example.org:25", "9.9.9.9:80")
	for mode, cases := range map[Mode]map[string]Reason{
		0:     {"example.org:443": NoEgress},
		None:  {"example.org:443": NoEgress},
		Local: {"example.org:443": NoEgress},
		Allowlist: {
			"example.org:443": AllowedByRule, "EXAMPLE.org.:80": AllowedByRule, "example.org:8443": PortNotListed, "www.example.org:443": NotListed,
			"a.example.net:443": AllowedByRule, "a.b.example.net:443": AllowedByRule, "example.net:443": NotListed, "notexample.net:443": NotListed,
			"bad.example.net:443": DeniedByRule, "bad.example.net:9": DeniedByRule, "x.bad.example.net:443": AllowedByRule, "a.worse.example.net:443": DeniedByRule,
			"git.example.org:22": AllowedByRule, "git.example.org:443": PortNotListed, "x.deep.example.com:8443": AllowedByRule, "x.deep.example.com:443": PortNotListed,
			"any.example.org:1": AllowedByRule, "any.example.org:25": DeniedByRule,
			"9.9.9.9:443": AllowedByRule, "9.9.9.9:80": DeniedByRule, "8.8.8.8:443": NotListed,
			"127.0.0.1:443": LoopbackAddress, "[::ffff:9.9.9.9]:443": EmbeddedAddress,
		},
		Public: {
			"example.org:443": AllowedByRule, "other.example:443": AllowedByPolicy, "other.example:80": AllowedByPolicy, "other.example:22": PortNotUsual,
			"git.example.org:22": AllowedByRule, "bad.example.net:443": DeniedByRule, "8.8.8.8:443": AllowedByPolicy, "10.0.0.1:443": PrivateAddress,
		},
	} {
		m := NewMatcher(Policy{Mode: mode, Allow: allow, Deny: deny})
		for text, want := range cases {
			if v := m.Decide(destination(t, text)); v.Reason != want || v.Allowed != (want == AllowedByRule || want == AllowedByPolicy) {
				t.Errorf("%v, %s: %v %q, want %q", mode, text, v.Allowed, v.Reason.Name(), want.Name())
			}
		}
	}
}

func TestDecideNamesTheRule(t *testing.T) {
	m := NewMatcher(Policy{Mode: Allowlist, Allow: rules(t, ParseAllow, "--allow", "*.example.net"), Deny: rules(t, ParseDeny, "your settings", "*")})
	if v := m.Decide(destination(t, "a.example.net:443")); v.Rule.String() != "* (your settings)" {
		t.Errorf("%q", v.Rule)
	}
	m = NewMatcher(Policy{Mode: Allowlist, Allow: rules(t, ParseAllow, "--allow", "*.example.net", "a.example.net")})
	if v := m.Decide(destination(t, "a.example.net:443")); v.Rule.String() != "a.example.net (--allow)" {
		t.Errorf("%q", v.Rule)
	}
}

func TestZeroValuesAllowNothing(t *testing.T) {
	var m Matcher
	if v := m.Decide(destination(t, "example.org:443")); v.Allowed {
		t.Error("the zero matcher allows")
	}
	if v := m.DecideAddress(netip.MustParseAddr("8.8.8.8"), 443); v.Allowed {
		t.Error("the zero matcher allows an address")
	}
	if v := NewMatcher(Policy{Mode: Public}).Decide(Destination{}); v.Allowed || v.Reason != NoHost {
		t.Errorf("no destination: %v", v)
	}
	if v := NewMatcher(Policy{Mode: Allowlist, Allow: []Rule{{}}}).Decide(destination(t, "example.org:443")); v.Allowed {
		t.Error("an empty entry allows")
	}
}

func TestTheDenyListHoldsForResolvedAddresses(t *testing.T) {
	m := NewMatcher(Policy{Mode: Public, Deny: rules(t, ParseDeny, "--deny", "9.9.9.9")})
	for text, want := range map[string]Reason{"9.9.9.9": DeniedByRule, "8.8.8.8": AllowedByPolicy, "192.168.0.1": PrivateAddress} {
		if v := m.DecideAddress(netip.MustParseAddr(text), 443); v.Reason != want {
			t.Errorf("%s: %q", text, v.Reason.Name())
		}
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	m := NewMatcher(Policy{Mode: Allowlist, Allow: rules(t, ParseAllow, "--allow", "*.example.net", "example.org", "*.amazonaws.com"), Deny: rules(t, ParseDeny, "--deny", "*.bad.example.net")})
	for _, text := range []string{"a.very.deep.name.below.example.net:443", "anyones-bucket.s3.amazonaws.com:443"} {
		d := destination(t, text)
		if n := testing.AllocsPerRun(100, func() { m.Decide(d) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	var entries []string
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		for _, c := range "abcdefghijklmnopqrstuvwxyz" {
			entries = append(entries, "*."+string(a)+string(c)+".example.net")
		}
	}
	m := NewMatcher(Policy{Mode: Allowlist, Allow: rules(b, ParseAllow, "--allow", entries...)})
	d := destination(b, "a.very.deep.name.below.example.net:443")
	b.ReportAllocs()
	for b.Loop() {
		m.Decide(d)
	}
}

func TestAnAllowedWildcardEndsWhereNamesOfOtherOwnersBegin(t *testing.T) {
	entries := []string{"*.amazonaws.com", "*.windows.net:*", "GET https://*.core.windows.net/x", "listed.s3.amazonaws.com", "*.own.s3.amazonaws.com", "*.user.github.io"}
	cases := map[string]Reason{
		"sts.amazonaws.com:443": AllowedByRule, "a.sts.amazonaws.com:443": AllowedByRule, "login.windows.net:22": AllowedByRule, "a.user.github.io:443": AllowedByRule,
		"anyones-bucket.s3.amazonaws.com:443": OtherOwner, "a.anyones-bucket.s3.amazonaws.com:443": OtherOwner, "s3.amazonaws.com:443": OtherOwner,
		"anyones-bucket.s3.amazonaws.com:8443": NotListed, "anyone.blob.core.windows.net:443": OtherOwner, "anyone.blob.core.windows.net:22": OtherOwner,
		"listed.s3.amazonaws.com:443": AllowedByRule, "listed.s3.amazonaws.com:22": PortNotListed, "a.own.s3.amazonaws.com:443": AllowedByRule,
	}
	m := NewMatcher(Policy{Mode: Allowlist, Allow: rules(t, ParseAllow, "--allow", entries...)})
	for text, want := range cases {
		if v := m.Decide(destination(t, text)); v.Reason != want || v.Allowed != (want == AllowedByRule) {
			t.Errorf("%s: %v %q, want %q", text, v.Allowed, v.Reason.Name(), want.Name())
		}
	}
	if v := m.Decide(destination(t, "anyones-bucket.s3.amazonaws.com:443")); v.Rule.String() != "*.amazonaws.com (--allow)" || !v.Reason.Askable() {
		t.Errorf("the refusal names the entry %v", v.Rule)
	}
	// A deny list and the list of inspected hosts lose nothing.
	m = NewMatcher(Policy{Mode: Public, Deny: rules(t, ParseDeny, "--deny", "*.amazonaws.com"), Inspect: rules(t, ParseInspect, "--inspect", "*.windows.net")})
	if v := m.Decide(destination(t, "anyones-bucket.s3.amazonaws.com:443")); v.Reason != DeniedByRule {
		t.Errorf("a denied wildcard: %q", v.Reason.Name())
	}
	if !m.Inspects(destination(t, "anyone.blob.core.windows.net:443")) {
		t.Error("an inspected wildcard does not inspect")
	}
	// Under public, an entry that restricts requests must not end in an unrestricted host.
	m = NewMatcher(Policy{Mode: Public, Allow: rules(t, ParseAllow, "--allow", "GET https://*.amazonaws.com/x", "*.windows.net:22")})
	for text, want := range map[string]Reason{
		"anyones-bucket.s3.amazonaws.com:443": OtherOwner, "anyone.blob.core.windows.net:443": AllowedByPolicy, "anyone.blob.core.windows.net:22": OtherOwner,
	} {
		if v := m.Decide(destination(t, text)); v.Reason != want {
			t.Errorf("public, %s: %q, want %q", text, v.Reason.Name(), want.Name())
		}
	}
	request := Request{Destination: destination(t, "anyones-bucket.s3.amazonaws.com:443"), TLS: true, Method: "GET", Path: "/x"}
	if v, _ := m.DecideRequest(request); v.Allowed {
		t.Error("a request is allowed at a host that the wildcard does not reach")
	}
}

func TestOwnAddressesAreAddressesOrPrefixes(t *testing.T) {
	for text, want := range map[string]string{
		"8.8.8.8": "8.8.8.8/32", "8.8.8.8/24": "8.8.8.0/24", "2606:4700::1": "2606:4700::1/128", "2606:4700::/32": "2606:4700::/32",
		"": "", "example.org": "", "8.8.8": "", "8.8.8.8/33": "", "fe80::1%lo": "", "::ffff:8.8.8.8": "", "8.8.8.8:443": "",
	} {
		if p, err := ParseOwnAddress(text); err == nil && p.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}
