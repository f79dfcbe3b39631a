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
