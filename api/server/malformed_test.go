package server

import (
	"fmt"
	"strings"
	"testing"

	"aibox/session/process"
)

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

// A signal beyond 31 would be an error of the protocol of aibox-init.
func TestOnlySignalsThatASandboxCanSendAreAccepted(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	if _, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"wait"}}); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{-1, 0, 32, 34, 64, 65} {
		got := s.request("POST", "/v1/sandboxes/"+id+"/processes/1:signal", fmt.Sprintf(`{"signal":%d}`, number), token)
		if got.status != 400 || !strings.Contains(got.body, "from 1 to 31") {
			t.Errorf("%d: %d %s", number, got.status, got.body)
		}
	}
	if got := s.request("POST", "/v1/sandboxes/"+id+"/processes/1:signal", `{"signal":31}`, token); got.status != 200 {
		t.Errorf("31: %d %s", got.status, got.body)
	}
}
