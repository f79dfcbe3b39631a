package server

import (
	"strings"
	"testing"
)

// A restriction that nothing outside of the sandbox's code enforces must not seem to be in
// force, even if it is empty.
func TestPermissionsThatCannotBeEnforcedAreRefusedWithTheReason(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for permissions, reason := range map[string]string{
		`{"read":{"patterns":["/data/*"]}}`:              "every program reads the libraries",
		`{"read":{}}`:                                    "every program reads the libraries",
		`{"programs":{"patterns":["/usr/bin/python3"]}}`: "an interpreter",
		`{"programs":{},"no_child_processes":true}`:      "an interpreter",
	} {
		got := s.request("POST", "/v1/sandboxes", `{"permissions":`+permissions+`}`, token)
		if got.status != 403 || !strings.Contains(got.body, reason) {
			t.Errorf("%s: %d %s", permissions, got.status, got.body)
		}
	}
	if s.m.creates > 0 {
		t.Error("a sandbox was created")
	}
}
