package server

import (
	"fmt"
	"strings"
	"testing"

	"aibox/app/sandbox/code"
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

func TestAVariableThatAnEnvironmentCannotHaveIsRefused(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Services.Code = NewCode(code.NewRunner(o.Services.Processes)) })
	id, token := s.sandbox("a"), bearer(s.token("a"))
	for _, path := range []string{":exec", ":runCode", "/processes", "/contexts"} {
		for _, env := range []string{`{"PATH=/x":"y"}`, `{"":"y"}`, `{"A\u0000B":"y"}`, `{"A":"y\u0000B=z"}`} {
			got := s.request("POST", "/v1/sandboxes/"+id+path, `{"language":"python","env":`+env+`}`, token)
			if path == ":exec" || path == "/processes" {
				got = s.request("POST", "/v1/sandboxes/"+id+path, `{"argv":["echo"],"env":`+env+`}`, token)
			}
			if got.status != 400 || !strings.Contains(got.body, "not a variable") {
				t.Errorf("%s %s: %d %s", path, env, got.status, got.body)
			}
		}
	}
}

// A number with a zero in front is meant as octal, and would give other permissions.
func TestAModeInOctalIsRefused(t *testing.T) {
	s := newSite(t, nil)
	path, token := "/v1/sandboxes/"+s.sandbox("a")+"/files/content?path=/x&mode=", bearer(s.token("a"))
	for mode, status := range map[string]int{"0755": 400, "00": 400, "rwx": 400, "0": 200, "420": 200} {
		if got := s.request("PUT", path+mode, "x", token); got.status != status {
			t.Errorf("%s: %d %s", mode, got.status, got.body)
		}
	}
}

func TestACallEndsWithTheKindTimeoutAtItsOwnDeadline(t *testing.T) {
	s := newSite(t, nil)
	body := `{"sandbox_id":"` + s.sandbox("a") + `","argv":["wait"]}`
	got := s.request("POST", "/aibox.v1.Processes/Exec", body, bearer(s.token("a")), "Connect-Timeout-Ms: 50")
	if got.status != 504 || codeOf(t, got.body) != "deadline_exceeded" || !strings.Contains(got.body, "within the time that it was given") {
		t.Errorf("%d %s", got.status, got.body)
	}
}
