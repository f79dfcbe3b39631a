package server

import "testing"

// A body that does not fit the schema is the client's fault.
func TestAMalformedBodyOverRESTIsInvalid(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	for path, body := range map[string]string{
		"/v1/sandboxes/" + id + ":resume": `{"timeout":"800h"}`,
		"/v1/sandboxes":                   `{"template":7}`,
		"/v1/sandboxes/" + id + ":extend": `{`,
	} {
		got := s.request("POST", path, body, token)
		if got.status != 400 {
			t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
		}
	}
}
