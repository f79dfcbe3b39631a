package server

import "testing"

// A body that does not fit the schema is the client's fault.
func TestAMalformedBodyOverRESTIsInvalid(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	for _, one := range []struct{ path, body string }{
		{"/v1/sandboxes/" + id + ":resume", `{"timeout":"800h"}`},
		{"/v1/sandboxes", `{"template":7}`},
		{"/v1/sandboxes/" + id + ":extend", `{`},
		{"/v1/sandboxes", `{"name":"a","name":"b"}`},
		{"/v1/sandboxes", `{"idleTimeout":"60s","idle_timeout":"7200s"}`},
		{"/v1/sandboxes", `{"metadata":{"a":"1","a":"2"}}`},
		{"/v1/sandboxes", `{"network":{"allow":{"hosts":["a.example"]},"allow":{"hosts":["*"]}}}`},
		{"/aibox.v1.Sandboxes/Create", `{"name":"a","name":"b"}`},
	} {
		got := s.request("POST", one.path, one.body, token)
		if got.status != 400 {
			t.Errorf("%s %s: %d %s", one.path, one.body, got.status, got.body)
		}
	}
}
