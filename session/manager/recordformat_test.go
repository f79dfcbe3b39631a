package manager

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/session"
)

// copyRecord copies a recorded session of testdata to the fixture.
func (d *fixture) copyRecord(from string, id session.ID) {
	d.t.Helper()
	d.must(os.CopyFS(d.store.Dir(id), os.DirFS(filepath.Join("testdata", from))))
}

func TestRecordsOfEarlierVersionsAreRead(t *testing.T) {
	d := newFixture(t)
	d.copyRecord("record-format0", "0a2h0-shell")
	record := d.loaded("0a2h0-shell")
	state := record.State
	if record.Agent != "shell" || record.Repository != "/home/ann/shop" || record.Network != "allowlist" || state.Phase != session.Ended ||
		state.Result == nil || state.Result.Seconds != 0.087340274 || state.Workspace == nil || state.Sandbox.PID != 6019 || state.Sandbox.Boot != "" {
		t.Errorf("it is read as %+v", record)
	}
	if repaired, err := d.Repair(t.Context()); err != nil || len(repaired) > 0 {
		t.Errorf("repaired is %+v, %v", repaired, err)
	}
	record.State.Review = session.Accepted
	d.must(d.store.WriteState("0a2h0-shell", record.State))
	if again := d.loaded("0a2h0-shell"); again.State.Review != session.Accepted || again.State.Result.Seconds != state.Result.Seconds {
		t.Errorf("afterwards it is read as %+v", again)
	}
}

// newer turns the session's record into one of a newer version of aibox, with unknown
// fields.
var newer = map[string]func(d *fixture, id session.ID){
	"a spec of another format": func(d *fixture, id session.ID) {
		d.replaceIn(id, session.SpecFile, `"format": 1`, `"format": 2`)
	},
	"a state of another format": func(d *fixture, id session.ID) {
		d.replaceIn(id, session.StateFile, `"format": 1`, `"format": 2, "more": {"than": "this"}`)
	},
	"an unknown phase": func(d *fixture, id session.ID) {
		d.replaceIn(id, session.StateFile, `"phase": "running"`, `"phase": "hibernating"`)
	},
}

func (d *fixture) replaceIn(id session.ID, name, old, text string) {
	d.t.Helper()
	path := filepath.Join(d.store.Dir(id), name)
	data, err := os.ReadFile(path)
	d.must(err)
	if !strings.Contains(string(data), old) {
		d.t.Fatalf("no %s in %s", old, data)
	}
	d.must(os.WriteFile(path, []byte(strings.Replace(string(data), old, text, 1)), 0o600))
}

// content returns the content of the record's files by name.
func (d *fixture) content(id session.ID) map[string]string {
	d.t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(d.store.Dir(id))
	d.must(err)
	for _, entry := range entries {
		if data, err := os.ReadFile(filepath.Join(d.store.Dir(id), entry.Name())); err == nil && entry.Name() != "lock" {
			all[entry.Name()] = string(data)
		}
	}
	return all
}

func TestRecordsOfNewerVersionsAreRefusedAndNeverRewritten(t *testing.T) {
	for name, change := range newer {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			ws := d.prepared("00001-a")
			d.must(d.store.WriteSpec("00001-a", d.loaded("00001-a").Spec))
			d.must(d.store.WriteState("00001-a", session.State{Phase: session.Running, Workspace: ws, Started: session.Now()}))
			change(d, "00001-a")
			before := d.content("00001-a")
			for what, use := range map[string]func(context.Context) error{
				"load":    func(context.Context) error { _, err := d.store.Load("00001-a"); return err },
				"find":    func(context.Context) error { _, err := d.Find("00001"); return err },
				"list":    func(context.Context) error { _, err := d.Summaries(); return err },
				"changes": func(ctx context.Context) error { _, err := d.Changes(ctx, "00001-a"); return err },
				"discard": func(ctx context.Context) error { _, err := d.Discard(ctx, "00001-a"); return err },
				"remove":  func(ctx context.Context) error { return d.Remove(ctx, "00001-a", true) },
				"kill":    func(ctx context.Context) error { _, err := d.Kill(ctx, "00001-a", "test"); return err },
			} {
				err := use(t.Context())
				if err == nil || fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "00001-a") ||
					!strings.Contains(err.Error(), "newer version of aibox") && !strings.Contains(err.Error(), "this version of aibox") || !strings.Contains(strings.Join(fault.Hints(err), " "), "update aibox") {
					t.Errorf("%s reports %v with the hints %q", what, err, fault.Hints(err))
				}
			}
			if repaired, err := d.Repair(t.Context()); err != nil || len(repaired) > 0 {
				t.Errorf("repaired is %+v, %v", repaired, err)
			}
			after := d.content("00001-a")
			for file, data := range before {
				if after[file] != data {
					t.Errorf("%s was rewritten", file)
				}
			}
			if gone, _ := ws.Gone(); gone {
				t.Error("the workspace is gone")
			}
		})
	}
}
