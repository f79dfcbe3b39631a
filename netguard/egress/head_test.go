package egress

import (
	"strings"
	"testing"

	"aibox/netguard/egress/egresstest"
)

func TestPartsOfARequestThatParsersReadInDifferentWaysAreRefused(t *testing.T) {
	for line, valid := range map[string]bool{
		"GET / HTTP/1.1": true, strings.Repeat("M", 32) + " / HTTP/1.1": true,
		strings.Repeat("M", 33) + " / HTTP/1.1": false, "G@T / HTTP/1.1": false, "GET\t/ / HTTP/1.1": false, " / HTTP/1.1": false,
	} {
		if _, problem := parseHead([]byte(line + "\r\nHost: good.example.org\r\n\r\n")); (problem == nil) != valid {
			t.Errorf("%q: %v", line, problem)
		}
	}
	tunnel := egresstest.Destination(t, "good.example.org:443")
	for target, valid := range map[string]bool{"/": true, "http://good.example.org:443/": false, "https://good.example.org/": false} {
		h := head{method: "GET", target: target, host: "good.example.org", hasHost: true}
		if _, problem := parseTarget(h, tunnel, true); (problem == nil) != valid {
			t.Errorf("%s inside TLS: %v", target, problem)
		}
	}
}
