package server

import (
	"testing"
	"time"
)

func TestAnUpdateOfASandboxChangesWhatItGivesAlone(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	if got := s.request("PATCH", "/v1/sandboxes/"+id, `{"idle_timeout":"90s"}`, token); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	got := s.m.changes[0]
	if got.IdleTimeout == nil || *got.IdleTimeout != 90*time.Second || got.Timeout != nil || got.Labels != nil {
		t.Errorf("the change is %+v", got)
	}
	if got := s.request("PATCH", "/v1/sandboxes/"+id, `{"idle_timeout":"-1s"}`, token); got.status != 400 || len(s.m.changes) > 1 {
		t.Errorf("a negative time: %d %s", got.status, got.body)
	}
}

func TestThePolicyOfASandboxCanBeSentBackUnlessItsBoundsDiffer(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	for body, want := range map[string]int{
		`{"upload_mib":"0","download_mib":"0","upload_mib_per_host":"0","download_mib_per_host":"0"}`: 200,
		`{"upload_mib":"1"}`: 400, `{"download_mib":"1"}`: 400, `{"upload_mib_per_host":"1"}`: 400, `{"download_mib_per_host":"1"}`: 400,
	} {
		if got := s.request("PUT", "/v1/sandboxes/"+id+"/network", body, token); got.status != want {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}
