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
	if got.IdleTimeout == nil || *got.IdleTimeout != 90*time.Second || got.Timeout != nil || got.Name != nil || got.Metadata != nil {
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

// A change of both together, made from what was read before, would undo one that another caller
// makes in between.
func TestTheNameAndTheMetadataOfASandboxChangeOnTheirOwn(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), bearer(s.token("a"))
	for _, body := range []string{`{"name":"x"}`, `{"metadata":{"entries":{"a":"b"}}}`, `{"metadata":{}}`} {
		if got := s.request("PATCH", "/v1/sandboxes/"+id, body, token); got.status != 200 {
			t.Fatalf("%s: %d %s", body, got.status, got.body)
		}
	}
	name, metadata, none := s.m.changes[0], s.m.changes[1], s.m.changes[2]
	if name.Name == nil || *name.Name != "x" || name.Metadata != nil {
		t.Errorf("a new name: %+v", name)
	}
	if metadata.Name != nil || metadata.Metadata == nil || (*metadata.Metadata)["a"] != "b" {
		t.Errorf("new metadata: %+v", metadata)
	}
	if none.Name != nil || none.Metadata == nil || *none.Metadata == nil || len(*none.Metadata) > 0 {
		t.Errorf("no metadata: %+v", none)
	}
}
