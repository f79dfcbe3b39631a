package server

import (
	"testing"

	"aibox/app/sandbox"
)

func TestASandboxWhoseNewTimeoutIsInvalidStaysPaused(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	s.m.all[0].State = sandbox.Paused
	for _, timeout := range []string{"-1s", "2592001s"} {
		got := s.request("POST", "/v1/sandboxes/"+id+":resume", `{"timeout":"`+timeout+`"}`, token)
		if got.status != 400 || s.m.all[0].State != sandbox.Paused {
			t.Errorf("%s: %d %s, and the sandbox is %s", timeout, got.status, got.body, s.m.all[0].State)
		}
	}
	got := s.request("POST", "/v1/sandboxes/"+id+":resume", `{"timeout":"60s"}`, token)
	if got.status != 200 || s.m.all[0].State != sandbox.Running {
		t.Errorf("a valid timeout: %d %s, and the sandbox is %s", got.status, got.body, s.m.all[0].State)
	}
}
