package netguard

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func usesOf(t testing.TB, destinations ...string) []Use {
	t.Helper()
	var uses []Use
	for _, text := range destinations {
		uses = append(uses, Use{destination(t, text), 1, 10, 100})
	}
	return uses
}

func TestProposeNamesExactHosts(t *testing.T) {
	for name, c := range map[string]struct {
		uses  []string
		known []string
		want  []string
	}{
		"nothing":               {nil, nil, nil},
		"one host on two ports": {[]string{"example.org:443", "example.org:80", "example.org:443"}, nil, []string{"example.org 3"}},
		"another port":          {[]string{"example.org:443", "example.org:22"}, nil, []string{"example.org 1", "example.org:22 1"}},
		"two siblings":          {[]string{"a.example.org:443", "b.example.org:443"}, nil, []string{"a.example.org 1", "b.example.org 1"}},
		"three siblings":        {[]string{"a.example.org:443", "b.example.org:443", "c.example.org:80", "example.org:443"}, nil, []string{"a.example.org 1", "b.example.org 1", "c.example.org 1", "example.org 1"}},
		"siblings on a port":    {[]string{"a.example.org:22", "b.example.org:22", "c.example.org:443"}, nil, []string{"a.example.org:22 1", "b.example.org:22 1", "c.example.org 1"}},
		"of many owners":        {[]string{"a.github.io:443", "b.github.io:443", "c.github.io:443"}, nil, []string{"a.github.io 1", "b.github.io 1", "c.github.io 1"}},
		"of a registry":         {[]string{"a.com:443", "b.com:443", "c.com:443"}, nil, []string{"a.com 1", "b.com 1", "c.com 1"}},
		"below a deep domain":   {[]string{"a.x.example.org:443", "b.x.example.org:443", "c.x.example.org:443"}, nil, []string{"a.x.example.org 1", "b.x.example.org 1", "c.x.example.org 1"}},
		"services of a cloud":   {[]string{"sts.amazonaws.com:443", "iam.amazonaws.com:443", "ec2.amazonaws.com:443"}, nil, []string{"ec2.amazonaws.com 1", "iam.amazonaws.com 1", "sts.amazonaws.com 1"}},
		"tenants of a service":  {[]string{"a.sharepoint.com:443", "b.sharepoint.com:443", "c.sharepoint.com:443"}, nil, []string{"a.sharepoint.com 1", "b.sharepoint.com 1", "c.sharepoint.com 1"}},
		"known already":         {[]string{"a.example.org:443", "example.net:443"}, []string{"*.example.org"}, []string{"example.net 1"}},
		"restricted":            {[]string{"api.example.org:443", "api.example.org:80", "example.org:443"}, []string{"GET https://api.example.org/repos/**"}, []string{"example.org 1"}},
		"restricted names":      {[]string{"api.example.org:443", "example.org:443"}, []string{"GET https://*.example.org/repos/**"}, []string{"example.org 1"}},
		"another owner's name":  {[]string{"a.s3.amazonaws.com:443"}, []string{"GET https://*.amazonaws.com/x"}, nil},
		"beside a restriction":  {[]string{"api.example.org:22", "api.example.org:443"}, []string{"GET https://api.example.org/repos/**", "api.example.org"}, []string{"api.example.org:22 1"}},
		"addresses":             {[]string{"8.8.8.8:443", "10.0.0.1:443", "[2606:4700::1]:8443"}, nil, []string{"8.8.8.8 1", "[2606:4700::1]:8443 1"}},
	} {
		var known []Pattern
		for _, entry := range c.known {
			p, err := ParseAllow(entry)
			if err != nil {
				t.Fatal(err)
			}
			known = append(known, p)
		}
		var got []string
		for _, p := range Propose(usesOf(t, c.uses...), known) {
			got = append(got, fmt.Sprint(p.Pattern, " ", p.Requests))
			if p.Up != int64(10*p.Requests) || p.Down != int64(100*p.Requests) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The proposed list allows each use, and no other name.
func TestProposeAllowsWhatWasUsedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var uses []Use
		for range rapid.IntRange(1, 12).Draw(t, "uses") {
			text := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "label") + "." + rapid.SampledFrom([]string{"example.org", "x.example.org", "github.io", "co.uk", "com"}).Draw(t, "domain")
			d, err := ParseDestination(text + rapid.SampledFrom([]string{":443", ":80", ":22"}).Draw(t, "port"))
			if err != nil {
				t.Fatal(err)
			}
			uses = append(uses, Use{Destination: d, Requests: 1})
		}
		var rules []Rule
		for _, p := range Propose(uses, nil) {
			rules = append(rules, Rule{Pattern: p.Pattern})
		}
		m := NewMatcher(Policy{Mode: Allowlist, Allow: rules})
		for _, use := range uses {
			if !m.Decide(use.Destination).Allowed {
				t.Fatalf("%v is not allowed by %v", use.Destination, rules)
			}
		}
		for _, other := range []string{"other.github.io", "other.co.uk", "other.com", "other.example.net", "other.example.org", "other.x.example.org", "other.a.example.org"} {
			host, err := ParseHost(other)
			if err != nil {
				t.Fatal(err)
			}
			if v := m.Decide(Destination{host, 443}); v.Allowed {
				t.Fatalf("%s is allowed by %v", other, v.Rule)
			}
		}
	})
}
