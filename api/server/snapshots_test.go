package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/snapshot"
)

// stored is a machine that stores the state of sandboxes.
type stored struct {
	*machine
	snapshots []snapshot.Snapshot // the newest first
}

func (s *stored) Snapshot(ctx context.Context, tenant session.Tenant, id, name string, ttl time.Duration) (snapshot.Snapshot, error) {
	of, err := s.Running(ctx, tenant, id)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	made := snapshot.Snapshot{
		ID: snapshot.NewID(), Tenant: tenant, Name: name, Created: time.Now(), Sandbox: of, Bytes: 7, Proof: []byte("a secret"),
		Spec: session.Spec{Sandbox: &session.SandboxSpec{Template: "code"}},
	}
	if ttl > 0 {
		made.Expires = made.Created.Add(ttl)
	}
	s.snapshots = append([]snapshot.Snapshot{made}, s.snapshots...)
	return made, nil
}

func (s *stored) ListSnapshots(_ context.Context, tenant session.Tenant) (own []snapshot.Snapshot, _ error) {
	for _, one := range s.snapshots {
		if one.Tenant == tenant {
			own = append(own, one)
		}
	}
	return own, nil
}

func (s *stored) DeleteSnapshot(_ context.Context, tenant session.Tenant, id string) error {
	before := len(s.snapshots)
	s.snapshots = slices.DeleteFunc(s.snapshots, func(one snapshot.Snapshot) bool { return one.Tenant == tenant && one.ID == id })
	if len(s.snapshots) == before {
		return fault.New(fault.NotFound, "there is no snapshot %q", id)
	}
	return nil
}

// Create records the snapshot in a request.
func (s *stored) Create(ctx context.Context, r sandbox.Request, step func(session.Step)) (sandbox.Sandbox, error) {
	made, err := s.machine.Create(ctx, r, step)
	made.Snapshot = r.Snapshot
	return made, err
}

func TestSnapshotsAreTakenListedUsedAndDeletedByTheirTenantAlone(t *testing.T) {
	cases := &stored{}
	s := newSite(t, func(o *Options) { o.Services.Sandboxes = cases })
	cases.machine = s.m
	mine, other := bearer(s.token("acme")), bearer(s.token("evil"))
	first, second := s.sandbox("acme"), s.sandbox("acme")

	made := s.request(http.MethodPost, "/v1/sandboxes/"+first+":snapshot", `{"name":"ready"}`, mine)
	if made.status != http.StatusOK || !strings.Contains(made.body, `"name":"ready"`) || !strings.Contains(made.body, `"sizeBytes":"7"`) ||
		!strings.Contains(made.body, `"template":"code"`) || strings.Contains(made.body, "proof") {
		t.Fatalf("%+v", made)
	}
	id := cases.snapshots[0].ID
	for path, want := range map[string]bool{
		"/v1/snapshots": true, "/v1/snapshots?sandbox_id=" + first: true, "/v1/snapshots?sandbox_id=" + second: false,
	} {
		if got := s.request(http.MethodGet, path, "", mine); got.status != http.StatusOK || strings.Contains(got.body, id) != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := s.request(http.MethodPost, "/v1/sandboxes", `{"snapshotId":"`+id+`"}`, mine); !strings.Contains(got.body, `"snapshotId":"`+id+`"`) {
		t.Errorf("a sandbox from it: %+v", got)
	}

	if got := s.request(http.MethodGet, "/v1/snapshots", "", other); got.status != http.StatusOK || strings.Contains(got.body, id) {
		t.Errorf("another tenant lists it: %+v", got)
	}
	for what, got := range map[string]answer{
		"takes one":             s.request(http.MethodPost, "/v1/sandboxes/"+first+":snapshot", `{}`, other),
		"lists those of":        s.request(http.MethodGet, "/v1/snapshots?sandbox_id="+first, "", other),
		"deletes":               s.request(http.MethodDelete, "/v1/snapshots/"+id, "", other),
		"deletes what is no id": s.request(http.MethodDelete, "/v1/snapshots/x", "", mine),
	} {
		if got.status != http.StatusNotFound {
			t.Errorf("a tenant %s: %+v", what, got)
		}
	}
	reader := bearer(s.token("acme", "sandboxes"))
	if got := s.request(http.MethodDelete, "/v1/snapshots/"+id, "", reader); got.status != http.StatusForbidden {
		t.Errorf("without the right: %+v", got)
	}
	short := s.request(http.MethodPost, "/v1/sandboxes/"+first+":snapshot", `{"ttl":"600s"}`, mine)
	if !strings.Contains(short.body, "expireTime") || strings.Contains(made.body, "expireTime") || cases.snapshots[0].Expires.IsZero() {
		t.Errorf("one that expires: %+v, and one that does not: %+v", short, made)
	}
	if got := s.request(http.MethodPost, "/v1/sandboxes/"+first+":snapshot", `{"ttl":"-1s"}`, mine); got.status != http.StatusBadRequest {
		t.Errorf("one that has expired: %+v", got)
	}
	cases.snapshots = cases.snapshots[1:]
	if got := s.request(http.MethodDelete, "/v1/snapshots/"+id, "", mine); got.status != http.StatusOK || len(cases.snapshots) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestAServerWithoutSnapshotsSaysSo(t *testing.T) {
	s := newSite(t, nil)
	mine, id := bearer(s.token("acme")), s.sandbox("acme")
	if got := s.request(http.MethodGet, "/v1/snapshots", "", mine); got.status != http.StatusOK || strings.Contains(got.body, "snap-") {
		t.Errorf("%+v", got)
	}
	for what, got := range map[string]answer{
		"taking":   s.request(http.MethodPost, "/v1/sandboxes/"+id+":snapshot", `{}`, mine),
		"deleting": s.request(http.MethodDelete, "/v1/snapshots/snap-1", "", mine),
	} {
		if got.status != http.StatusNotImplemented || !strings.Contains(got.body, "unsupported") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := s.request(http.MethodPost, "/v1/sandboxes/00009-code:snapshot", `{}`, mine); got.status != http.StatusNotFound {
		t.Errorf("of none: %+v", got)
	}
}
