package netguard

import (
	"strings"
	"testing"
)

func TestInspects(t *testing.T) {
	m := NewMatcher(Policy{Inspect: rules(t, ParseInspect, "--inspect", "api.example.org", "*.example.net:8443", "any.example.org:*")})
	for text, want := range map[string]bool{
		"api.example.org:443": true, "API.example.org.:443": true, "api.example.org:80": false, "api.example.org:8443": false, "www.example.org:443": false, "x.api.example.org:443": false,
		"a.example.net:8443": true, "example.net:8443": false, "a.example.net:443": false, "any.example.org:1": true,
	} {
		if m.Inspects(destination(t, text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	for _, text := range []string{"*", "*.com", "*.github.io"} {
		if _, err := ParseInspect(text); err == nil || !strings.Contains(err.Error(), "inspect a host") || strings.Contains(err.Error(), "allow") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "*", "*.com", "https://example.org", "example.org/a", "example.org:80", "10.0.0.1"} {
		if p, err := ParseInspect(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}

func TestAnEntryNeedsInspectionOfAllItsHosts(t *testing.T) {
	for entry, inspected := range map[string]map[string]bool{
		"GET https://api.example.org/a": {"api.example.org": true, "*.example.org": true, "*.api.example.org": false, "api.example.org:8443": false, "api.example.org:*": true, "www.example.org": false},
		"GET https://*.example.org":     {"*.example.org": true, "example.org": false, "a.example.org": false, "*.a.example.org": false},
		"GET https://*.a.example.org":   {"*.example.org": true, "*.a.example.org": true, "a.example.org": false},
		"GET https://a.example.org:*":   {"a.example.org": false, "a.example.org:*": true},
		"GET http://plain.example.org":  {"a.example.org": true},
		"plain.example.org":             {"a.example.org": true},
	} {
		for host, want := range inspected {
			p := Policy{Allow: rules(t, ParseAllow, "--allow", entry), Inspect: rules(t, ParseInspect, "--inspect", host)}
			if have := len(p.Uninspected()) == 0; have != want {
				t.Errorf("%s with %s inspected: %v", entry, host, have)
			}
		}
	}
}
