package server

import (
	"strings"
	"testing"
)

// The texts of the libraries name packages and calls that mean nothing to callers.
func TestAnErrorInTheJSONOfARequestIsASentence(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for body, want := range map[string]string{
		`{"bogus":1}`:                  `this server does not know the field \"bogus\" of the request (line 1, column 2)"`,
		"{\"limits\":\n{\"bogus\":1}}": `this server does not know the field \"bogus\" of the request (line 2, column 2)"`,
		`{"timeout":`:                  `the JSON of the request is wrong: unexpected EOF"`,
		`{"limits":"all"}`:             `the JSON of the request is wrong: unexpected token \"all\" (line 1, column 11)"`,
		`{"limits":{"cpus":"x"}}`:      `the JSON of the request is wrong: invalid value for double field cpus: \"x\" (line 1, column 19)"`,
	} {
		for _, path := range []string{"/v1/sandboxes", "/aibox.v1.Sandboxes/Create"} {
			if got := s.request("POST", path, body, token); got.status != 400 || !strings.Contains(got.body, `"message":"`+want) {
				t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
			}
		}
	}
	if got := s.request("POST", "/v1/sandboxes", `{"bogus":1}`, token); !strings.Contains(got.body, "openapi.yaml") {
		t.Errorf("without a hint: %s", got.body)
	}
}
