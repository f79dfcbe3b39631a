package netguard

import (
	"slices"
	"strings"
	"testing"
)

func TestRequestEntriesPrintInTheirCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.org":                   "example.org:443",
		"http://example.org":                    "example.org:80",
		"https://example.org/**":                "example.org:443",
		"https://example.org/":                  "https://example.org/",
		"get https://example.org":               "GET https://example.org",
		"POST|GET|GET https://example.org/**":   "GET|POST https://example.org",
		"GET https://*.example.org:8443//a/%62": "GET https://*.example.org:8443/a/b",
		"HTTP://example.org:80/a":               "http://example.org/a",
		"http://example.org:443/a":              "http://example.org:443/a",
		"https://[2606:4700::1]/a":              "https://[2606:4700::1]/a",
		"https://example.org:*/a":               "https://example.org:*/a",
	} {
		p, err := ParseAllow(text)
		if err != nil || p.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, p, err, want)
			continue
		}
		if again, err := ParseAllow(p.String()); err != nil || again != p {
			t.Errorf("%q reads back as %q, %v", p, again, err)
		}
	}
	for _, text := range []string{
		"GET example.org/a", "ftp://example.org", "GET  https://example.org", "G€T https://example.org", "GET,POST https://example.org", "| https://example.org",
		"TRACE https://example.org", "CONNECT https://example.org", "https://user@example.org/", "https://*.com/a", "https://*/a", "https://example.org?a", "https://example.org/a?b",
		"https://10.0.0.1/a", "https:///a", "https://example.org/../a",
	} {
		if p, err := ParseAllow(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}

func TestDecideRequest(t *testing.T) {
	allow := rules(t, ParseAllow, "--allow",
		"GET https://api.example.org/repos/**", "POST https://api.example.org/repos/*/issues", "DELETE https://api.example.org",
		"*.example.org", "open.example.net", "GET https://open.example.net/a", "GET http://plain.example.net/a/**")
	m := NewMatcher(Policy{Mode: Allowlist, Allow: allow, Deny: rules(t, ParseDeny, "--deny", "bad.example.org")})
	for _, c := range []struct {
		method, url, path string
		want              Reason
		forwarded         string
	}{
		{"GET", "api.example.org:443", "/repos//a", AllowedByRule, "/repos/a"},
		{"HEAD", "api.example.org:443", "/repos/%61", AllowedByRule, "/repos/a"},
		{"POST", "api.example.org:443", "/repos/a/issues", AllowedByRule, "/repos/a/issues"},
		{"POST", "api.example.org:443", "/repos/a", RequestNotListed, ""},
		{"GET", "api.example.org:443", "/admin", RequestNotListed, ""},
		{"GET", "api.example.org:443", "/repos/../admin", PathAmbiguous, ""},
		{"GET", "api.example.org:443", "/repos/%2e%2e/admin", PathAmbiguous, ""},
		{"get", "api.example.org:443", "/repos/a", RequestNotListed, ""},
		{"DELETE", "api.example.org:443", "/x/..//%2e", AllowedByRule, "/x/..//%2e"}, // the path does not matter for the decision, so it is unchanged
		{"GET", "api.example.org:80", "/x", RequestNotListed, "/x"},
		{"PUT", "www.example.org:443", "/x//y", AllowedByRule, "/x//y"},
		{"PUT", "bad.example.org:443", "/", DeniedByRule, "/"},
		{"PUT", "open.example.net:443", "/b", AllowedByRule, "/b"},
		{"GET", "plain.example.net:80", "/a/b", AllowedByRule, "/a/b"},
		{"GET", "plain.example.net:443", "/a/b", RequestNotListed, "/a/b"},
	} {
		d := destination(t, c.url)
		v, forwarded := m.DecideRequest(Request{Destination: d, TLS: d.Port == 443, Method: c.method, Path: c.path})
		if v.Reason != c.want || forwarded != c.forwarded || v.Allowed != (c.want == AllowedByRule) {
			t.Errorf("%s %s%s: %s, forwarded %q", c.method, c.url, c.path, v.Reason.Name(), forwarded)
		}
	}
}

func TestARestrictedHostIsRestrictedInEveryForm(t *testing.T) {
	for _, mode := range []Mode{Allowlist, Public} {
		m := NewMatcher(Policy{Mode: mode, Allow: rules(t, ParseAllow, "--allow", "GET https://api.example.org/repos/**", "GET https://api.example.org:8443/other")})
		d := destination(t, "api.example.org:443")
		if !m.Decide(d).Restricted() {
			t.Errorf("%v: a tunnel would be open", mode)
		}
		for name, r := range map[string]Request{
			"without TLS":              {Method: "GET", Path: "/repos/a"},
			"X-Http-Method-Override":   {TLS: true, Method: "GET", Path: "/repos/a", Header: map[string][]string{"X-Http-Method-Override": {"DELETE"}}},
			"X_http_method_override":   {TLS: true, Method: "GET", Path: "/repos/a", Header: map[string][]string{"X_http_method_override": {"DELETE"}}},
			"the path of another port": {TLS: true, Method: "GET", Path: "/other"},
			"X-Original-Url":           {TLS: true, Method: "GET", Path: "/repos/a", Header: map[string][]string{"X-Original-Url": {"/admin"}}},
			"the path of another host": {TLS: true, Method: "GET", Path: "https://api.example.org/repos/a"},
		} {
			r.Destination = d
			if v, _ := m.DecideRequest(r); v.Allowed {
				t.Errorf("%v, %s: allowed", mode, name)
			}
		}
	}
}

func TestTheEntryForARefusedRequestAllowsOnlyThat(t *testing.T) {
	for entry, requests := range map[string]map[string]string{
		"GET https://*.example.org/a": {
			"POST https://api.example.org:443/b": "POST https://*.example.org/b",
			"POST http://api.example.org:80/b":   "POST http://*.example.org/b",
		},
		"GET http://api.example.org/a":       {"GET https://api.example.org:443/b": "GET https://api.example.org/b"},
		"GET https://api.example.org:8443/a": {"GET https://api.example.org:8443/b": "GET https://api.example.org:8443/b"},
	} {
		allow := rules(t, ParseAllow, "--allow", entry)
		for text, want := range requests {
			method, url, _ := strings.Cut(text, " ")
			scheme, rest, _ := strings.Cut(url, "://")
			host, _, _ := strings.Cut(rest, "/")
			r := Request{Destination: destination(t, host), TLS: scheme == "https", Method: method, Path: "/b"}
			if v, _ := NewMatcher(Policy{Mode: Public, Allow: allow}).DecideRequest(r); v.Reason != RequestNotListed {
				t.Errorf("%s with %s: %v", text, entry, v.Reason)
			}
			p, err := allow[0].Pattern.ForRequest(r)
			if err != nil || p.String() != want {
				t.Errorf("%s with %s: %s, %v", text, entry, p, err)
				continue
			}
			m := NewMatcher(Policy{Mode: Public, Allow: append(slices.Clone(allow), Rule{Pattern: p})})
			if v, _ := m.DecideRequest(r); !v.Allowed {
				t.Errorf("%s with %s and %s: %v", text, entry, p, v.Reason)
			}
			r.Path = "/c"
			if v, _ := m.DecideRequest(r); v.Allowed {
				t.Errorf("%s and %s allow %s", entry, p, r.Path)
			}
		}
	}
}

// Most servers answer the same on ports 443 and 80, and a wider entry or the policy public
// would allow every request there.
func TestAHostThatIsRestrictedOnOneUsualPortIsNotOpenOnTheOther(t *testing.T) {
	for _, c := range []struct {
		allow []string
		host  string
		want  map[Mode]Reason
	}{
		{[]string{"GET https://api.example.org/a"}, "api.example.org:80", map[Mode]Reason{Allowlist: RequestNotListed, Public: RequestNotListed}},
		{[]string{"GET http://api.example.org/a"}, "api.example.org:443", map[Mode]Reason{Allowlist: RequestNotListed, Public: RequestNotListed}},
		{[]string{"*.example.org", "GET https://api.example.org/a"}, "api.example.org:80", map[Mode]Reason{Allowlist: RequestNotListed, Public: RequestNotListed}},
		{[]string{"*.example.org", "GET https://api.example.org/a"}, "www.example.org:80", map[Mode]Reason{Allowlist: AllowedByRule, Public: AllowedByRule}},
		{[]string{"GET https://*.example.org/a"}, "api.example.org:80", map[Mode]Reason{Allowlist: RequestNotListed, Public: RequestNotListed}},
		{[]string{"GET https://*.amazonaws.com/a"}, "bucket.s3.amazonaws.com:80", map[Mode]Reason{Allowlist: OtherOwner, Public: OtherOwner}},
		{[]string{"api.example.org:80", "GET https://api.example.org/a"}, "api.example.org:80", map[Mode]Reason{Allowlist: AllowedByRule, Public: AllowedByRule}},
		{[]string{"GET https://api.example.org:8443/a"}, "api.example.org:443", map[Mode]Reason{Allowlist: PortNotListed, Public: AllowedByPolicy}},
	} {
		for mode, want := range c.want {
			m := NewMatcher(Policy{Mode: mode, Allow: rules(t, ParseAllow, "--allow", c.allow...)})
			if v := m.Decide(destination(t, c.host)); v.Reason != want || v.Allowed != (want == AllowedByRule || want == AllowedByPolicy) || v.Restricted() {
				t.Errorf("%v with %q, %s: %v (%s), want %v", mode, c.allow, c.host, v.Reason, v.Rule, want)
			}
		}
	}
}
