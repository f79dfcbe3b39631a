package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/snapshot"
)

// taken stores a snapshot of a sandbox of the user that was created by the launch.
func (f *fixture) taken(launch session.Launch) string {
	f.Helper()
	id := snapshot.NewID()
	draft, err := f.Snapshots.Begin(session.LocalTenant, id)
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(draft.State(), "pages.img"), []byte("memory"), 0o600); err != nil {
		f.Fatal(err)
	}
	if _, err := draft.Commit(f.Context(), snapshot.Snapshot{Created: time.Now(), ImageID: launch.ImageID, Spec: launch.Spec}); err != nil {
		f.Fatal(err)
	}
	return id
}

func TestASandboxFromASnapshotHasItsSettingsExceptThoseThatAreGiven(t *testing.T) {
	f := newFixture(t)
	first := f.create(Request{
		Tenant: session.LocalTenant, OnTimeout: session.Pause, Labels: session.Labels{Name: "first"},
		Settings: settings(t, "allow=example.com", "deny=old.example", "timeout=10m", "memory=1024", "egress-upload=7"),
	})
	id := f.taken(first)
	f.defaults = settings(t, "deny=new.example", "timeout=3m")

	same := f.create(Request{Tenant: session.LocalTenant, Snapshot: id})
	if s := same.Spec; s.Network != "allowlist" || !slices.Equal(s.Allow, []string{"example.com"}) || s.Timeout != amount.Duration(10*time.Minute) ||
		s.Memory != 1024 || s.EgressUpload != 7 || s.Sandbox.Snapshot != id || same.ImageID != first.ImageID {
		t.Errorf("nothing given: %+v, %+v", s.Run, s.Sandbox)
	}
	if s := same.Spec; !slices.Contains(s.Deny, "old.example") || !slices.Contains(s.Deny, "new.example") {
		t.Errorf("denied then or now, but not any more: %q", s.Deny)
	}
	if own := same.Spec.Sandbox; own.Name != "" || own.OnTimeout == session.Pause || own.User != first.Spec.Sandbox.User {
		t.Errorf("%+v", own)
	}

	other := f.create(Request{
		Tenant: session.LocalTenant, Snapshot: id, Labels: session.Labels{Name: "second"},
		Settings: settings(t, "allow=example.org", "timeout=1m", "memory=2048"),
	}).Spec
	if !slices.Equal(other.Allow, []string{"example.org"}) || other.Timeout != amount.Duration(time.Minute) || other.Memory != 2048 || other.EgressUpload != 7 ||
		other.Sandbox.Name != "second" {
		t.Errorf("given: %+v", other.Run)
	}
	if !slices.Contains(other.Deny, "new.example") {
		t.Errorf("a new allow list took the tenant's denials away: %q", other.Deny)
	}
	closed := f.create(Request{Tenant: session.LocalTenant, Snapshot: id, Settings: settings(t, "network=none")}).Spec
	if closed.Network != "none" || len(closed.Allow) > 0 {
		t.Errorf("closed: %+v", closed.Run)
	}
}

func TestSettingsOfTheStoredProcessesCannotBeChanged(t *testing.T) {
	f := newFixture(t)
	id := f.taken(f.create(Request{Tenant: session.LocalTenant, Settings: settings(t, "pids=64")}))
	started := len(f.launched)
	for name, c := range map[string]struct {
		Request
		want fault.Kind
	}{
		"template":    {Request{Template: "codex"}, fault.Usage},
		"volume":      {Request{Volumes: []session.VolumeMount{{Volume: "data", Path: "/data"}}}, fault.Refused},
		"image":       {Request{Settings: settings(t, "image=debian")}, fault.Refused},
		"processes":   {Request{Settings: settings(t, "pids=65")}, fault.Refused},
		"memory":      {Request{Settings: settings(t, "memory=1")}, fault.Usage},
		"permissions": {Request{Permissions: session.Permissions{Root: true}}, fault.Refused},
		"tenant":      {Request{Tenant: "acme"}, fault.NotFound},
		"snapshot":    {Request{Snapshot: snapshot.NewID()}, fault.NotFound},
	} {
		r := c.Request
		if r.Tenant == "" {
			r.Tenant = session.LocalTenant
		}
		if r.Snapshot == "" {
			r.Snapshot = id
		}
		if _, err := f.Create(t.Context(), r, nil); fault.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.launched) != started {
		t.Error("a sandbox was started")
	}
}
