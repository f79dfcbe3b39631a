package netguard

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// drawnPattern is an entry of an allow list about few hosts and ports, so that entries meet.
func drawnPattern(t *rapid.T, label string) Pattern {
	host := rapid.SampledFrom([]string{"example.org", "a.example.org", "b.a.example.org", "example.net", "8.8.8.8", "user.github.io", "amazonaws.com", "a.s3.amazonaws.com", "s3.amazonaws.com"}).Draw(t, label+" host")
	if host != "8.8.8.8" && rapid.Bool().Draw(t, label+" wild") {
		host = "*." + host
	}
	text := host + rapid.SampledFrom([]string{"", ":443", ":80", ":22", ":*"}).Draw(t, label+" port")
	if rapid.IntRange(0, 3).Draw(t, label+" requests") == 0 {
		text = rapid.SampledFrom([]string{"GET https://", "https://", "http://", "GET|POST https://"}).Draw(t, label+" method") + text + rapid.SampledFrom([]string{"", "/v1/*", "/v1/**", "/x"}).Draw(t, label+" path")
	}
	p, err := ParseAllow(text)
	if err != nil {
		t.Skip(fmt.Sprint(text, err))
	}
	return p
}

func TestAnEntryThatCoversAnotherAllowsAllOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawnPattern(t, "outer"), drawnPattern(t, "inner")
		if p.Covers(q) {
			isSubset(t, Policy{Mode: Allowlist, Allow: []Rule{{q, ""}}}, Policy{Mode: Allowlist, Allow: []Rule{{p, ""}}})
		}
	})
}

func TestADenialRefusesAllOfTheEntryOrTheEntryStillAllowsSome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"*", "*.org", "example.org", "a.example.org", "*.example.org", "*.a.example.org", "8.8.8.8", "*.amazonaws.com"}).Draw(t, "denied host")
		denial, err := ParseDeny(host + rapid.SampledFrom([]string{"", ":443", ":22", ":*"}).Draw(t, "denied port"))
		if err != nil {
			t.Skip(err)
		}
		if entry := drawnPattern(t, "allowed"); denial.Denies(entry) {
			isSubset(t, Policy{Mode: Allowlist, Allow: []Rule{{entry, ""}}, Deny: []Rule{{denial, ""}}}, Policy{Mode: Allowlist})
		}
	})
	for _, c := range []struct {
		denial, entry string
		want          bool
	}{
		{"*", "a.example.org", true},
		{"*", "8.8.8.8:22", true},
		{"*.example.org", "a.example.org", true},
		{"*.example.org", "*.a.example.org", true},
		{"*.example.org", "example.org", false},
		{"a.example.org", "*.example.org", false},
		{"example.org", "example.org:22", true},
		{"example.org:22", "example.org:22", true},
		{"example.org:443", "example.org", false}, // port 80 is still allowed
		{"example.org:443", "example.org:*", false},
		{"*.com", "a.example.com", true},
	} {
		denial, err := ParseDeny(c.denial)
		entry, err2 := ParseAllow(c.entry)
		if err != nil || err2 != nil || denial.Denies(entry) != c.want {
			t.Errorf("%s denies %s: %v, %v %v", c.denial, c.entry, !c.want, err, err2)
		}
	}
}

func TestARestrictedEntryCoversOnlyItself(t *testing.T) {
	entry := func(text string) Pattern {
		p, err := ParseAllow(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	restricted := entry("GET https://a.example.org/x/**")
	for text, covered := range map[string]bool{"GET https://a.example.org/x/**": true, "a.example.org": false, "GET https://a.example.org": false, "POST https://a.example.org/x/**": false} {
		if got := restricted.Covers(entry(text)); got != covered {
			t.Errorf("it covers %s: %t", text, got)
		}
	}
	if !entry("a.example.org").Covers(restricted) {
		t.Error("the whole host does not cover it")
	}
}

func TestAListThatNarrowsAnotherAllowsAtMostAsMuch(t *testing.T) {
	var narrowed int
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pattern { return drawnPattern(t, "now") }), 1, 4).Draw(t, "now")
		var next []Pattern
		for _, p := range now {
			if rapid.Bool().Draw(t, "stays") {
				next = append(next, p)
			}
		}
		if rapid.Bool().Draw(t, "has another") {
			next = append(next, drawnPattern(t, "next"))
		}
		if !Narrows(next, now) {
			return
		}
		narrowed++
		for _, mode := range []Mode{Allowlist, Public} {
			isSubset(t, Policy{Mode: mode, Allow: rulesOf(next)}, Policy{Mode: mode, Allow: rulesOf(now)})
		}
	})
	if narrowed == 0 {
		t.Error("no list was narrower")
	}
}

func rulesOf(patterns []Pattern) []Rule {
	rules := make([]Rule, len(patterns))
	for i, p := range patterns {
		rules[i] = Rule{Pattern: p}
	}
	return rules
}

// isSubset checks that one policy allows no request that the other refuses.
func isSubset(t *rapid.T, inside, outside Policy) {
	inner, outer := NewMatcher(inside), NewMatcher(outside)
	for _, host := range []string{"example.org", "a.example.org", "b.a.example.org", "c.b.a.example.org", "example.net", "8.8.8.8", "user.github.io", "x.user.github.io", "s3.amazonaws.com", "a.s3.amazonaws.com", "b.a.s3.amazonaws.com", "sts.amazonaws.com"} {
		for _, port := range []string{":443", ":80", ":22", ":8443"} {
			d, err := ParseDestination(host + port)
			if err != nil {
				t.Fatal(err)
			}
			if inner.Decide(d).Allowed && !outer.Decide(d).Allowed {
				t.Fatalf("%v is allowed by %v and not by %v", d, inside, outside)
			}
			for _, path := range []string{"/", "/x", "/v1/a", "/v1/a/b"} {
				for _, method := range []string{"GET", "POST", "DELETE"} {
					for _, tls := range []bool{true, false} {
						r := Request{Destination: d, TLS: tls, Method: method, Path: path}
						in, _ := inner.DecideRequest(r)
						if out, _ := outer.DecideRequest(r); in.Allowed && !out.Allowed {
							t.Fatalf("%+v is allowed by %v and not by %v", r, inside, outside)
						}
					}
				}
			}
		}
	}
}

func TestCoversFollowsHostsAndPorts(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"*.example.org", "a.example.org", true},
		{"*.example.org", "example.org", false},
		{"*.example.org", "*.a.example.org", true},
		{"*.a.example.org", "*.example.org", false},
		{"example.org", "example.org:443", true},
		{"example.org:443", "example.org", false},
		{"example.org:*", "example.org:22", true},
		{"example.org", "GET https://example.org/x", true},
		{"GET https://example.org/x", "example.org", false},
		{"8.8.8.8", "8.8.8.8:80", true},
		{"*.amazonaws.com", "sts.amazonaws.com", true},
		{"*.amazonaws.com", "a.s3.amazonaws.com", false},
		{"*.amazonaws.com", "*.a.s3.amazonaws.com", false},
		{"*.a.s3.amazonaws.com", "b.a.s3.amazonaws.com", true},
	} {
		outer, err := ParseAllow(c.outer)
		inner, err2 := ParseAllow(c.inner)
		if err != nil || err2 != nil || outer.Covers(inner) != c.want {
			t.Errorf("%s covers %s: %v, %v %v", c.outer, c.inner, !c.want, err, err2)
		}
	}
}

// A wider entry would go over the restricted one, because both name the host itself.
func TestAListThatNarrowsAnotherAddsNoEntryForARestrictedHost(t *testing.T) {
	now := patterns(t, "GET https://api.example.org/a", "*.example.org")
	if Narrows(append(patterns(t, "api.example.org"), now...), now) {
		t.Error("the restricted host may be added as a whole")
	}
}

func patterns(t *testing.T, entries ...string) []Pattern {
	t.Helper()
	var all []Pattern
	for _, rule := range rules(t, ParseAllow, "", entries...) {
		all = append(all, rule.Pattern)
	}
	return all
}
