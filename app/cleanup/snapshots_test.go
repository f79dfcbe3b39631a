package cleanup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aibox/config"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/snapshot"
)

var facts = snapshot.Facts{Runtime: "r", Init: "aibox-init-1", Protocol: 6}

// snapshotOf creates a snapshot of a sandbox that was taken some time ago.
func (d *fixture) snapshotOf(sandbox session.ID, ago time.Duration) string {
	d.t.Helper()
	return d.snapshotOn("sha256:1", sandbox, ago)
}

// snapshotOn is snapshotOf for a sandbox of this image.
func (d *fixture) snapshotOn(image runtime.ImageID, sandbox session.ID, ago time.Duration) string {
	d.t.Helper()
	store, id := snapshot.NewStore(d.dirs), snapshot.NewID()
	draft, err := store.Begin("acme", id)
	d.must(err)
	d.write(filepath.Join(draft.State(), "pages.img"), "memory")
	_, err = draft.Commit(d.t.Context(), snapshot.Snapshot{
		Created: time.Now().Add(-ago), Sandbox: sandbox, ImageID: image, Facts: facts, Spec: d.sandboxSpec(sandbox, ""),
	})
	d.must(err)
	d.must(filepath.WalkDir(filepath.Join(d.dirs.Data, "snapshots", "acme", id), func(path string, _ os.DirEntry, err error) error {
		d.must(err)
		return os.Chtimes(path, time.Time{}, time.Now().Add(-ago))
	}))
	return id
}

func (d *fixture) sandboxSpec(id session.ID, from string) session.Spec {
	return session.Spec{
		ID: id, Created: time.Now().UTC(), Agent: session.SandboxAgent, Run: config.Run{Network: "none", Image: "aibox/code:0"},
		Sandbox: &session.SandboxSpec{Tenant: "acme", Template: "code", User: "user", Snapshot: from},
	}
}

// sandbox creates a sandbox of the tenant acme in a phase, from a snapshot unless from is
// empty.
func (d *fixture) sandbox(id session.ID, phase session.Phase, from string) {
	d.t.Helper()
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.WriteSpec(id, d.sandboxSpec(id, from)))
	d.must(d.store.WriteState(id, session.State{Phase: phase, Started: time.Now().UTC()}))
}

// snapshots lists the ids of acme's snapshots.
func (d *fixture) snapshots() (ids []string) {
	d.t.Helper()
	all, err := snapshot.NewStore(d.dirs).List("acme")
	d.must(err)
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	return ids
}

func TestUnneededSnapshotsAreRemoved(t *testing.T) {
	d := newFixture(t)
	old, recent := d.snapshotOf("00001-code", 2*month), d.snapshotOf("00001-code", time.Hour)
	used, running, restored := d.snapshotOf("00001-code", 2*month), d.snapshotOf("00002-code", 2*month), d.snapshotOf("00001-code", 2*month)
	d.sandbox("00001-code", session.Ended, "")
	d.sandbox("00002-code", session.Running, "")
	d.sandbox("00003-code", session.Running, restored)
	d.sandbox("00004-code", session.Ended, old)
	spec := d.sandboxSpec("00005-code", used)
	opened, err := snapshot.NewStore(d.dirs).Open(t.Context(), runtime.ImageID("sha256:1"), &spec, facts)
	d.must(err)
	d.must(opened.Close())

	if r := d.collect(func(o *Options) { o.DryRun = true }); len(d.snapshots()) != 5 || !removes(r, KindSnapshots, old) {
		t.Errorf("a dry run: %+v, and %q stay", r.Freed, d.snapshots())
	}
	r := d.collect()
	if left := d.snapshots(); !removes(r, KindSnapshots, old) || slices.Contains(left, old) {
		t.Errorf("%+v, and %q stay", r.Freed, left)
	}
	for what, id := range map[string]string{"recent": recent, "recently used": used, "of a running sandbox": running, "from which a sandbox runs": restored} {
		if !slices.Contains(d.snapshots(), id) {
			t.Errorf("one that is %s was removed", what)
		}
	}
	if r := d.collect(func(o *Options) { o.OlderThan = 0 }); !slices.Equal(sorted(d.snapshots()), sorted([]string{running, restored})) {
		t.Errorf("of any age: %+v, and %q stay", r.Freed, d.snapshots())
	}
}

func TestSnapshotsStayWhenARecordCannotBeRead(t *testing.T) {
	d := newFixture(t)
	d.snapshotOf("00001-code", 2*month)
	d.sandbox("00002-code", session.Ended, "")
	d.must(os.WriteFile(filepath.Join(d.store.Dir("00002-code"), "spec.json"), []byte("{"), 0o600))
	if r := d.collect(); len(d.snapshots()) != 1 {
		t.Errorf("%+v", r.Freed)
	}
}

// removes reports whether a report removes only the item with the name.
func removes(r *Report, kind Kind, name string) bool {
	return slices.ContainsFunc(r.Freed, func(f Freed) bool { return f.Kind == kind && slices.Equal(f.Names, []string{name}) })
}

func sorted(ids []string) []string { slices.Sort(ids); return ids }
