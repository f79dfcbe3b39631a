package cleanup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aibox/runtime"
	"aibox/session"
)

// failing runs a cleanup that cannot remove everything.
func (d *fixture) failing(change func(*Options)) *Report {
	d.t.Helper()
	options := Options{OlderThan: month, minScratchAge: -1}
	change(&options)
	r, err := newCleaner(d.dirs, d.docker, options).run(d.t.Context())
	if err == nil {
		d.t.Error("it reports no failure")
	}
	return r
}

// A report that names what is still there hides that the disk is as full as before.
func TestWhatCannotBeRemovedIsNotReportedAsRemoved(t *testing.T) {
	t.Run("a workspace that cannot be saved", func(t *testing.T) {
		d := newFixture(t)
		ws := d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 2*month)
		r := d.failing(func(o *Options) {
			o.step = func(what string) {
				if what == "save 00001-a" {
					d.must(os.Rename(filepath.Join(ws.GitDir, "aibox"), filepath.Join(ws.GitDir, "away")))
				}
			}
		})
		if len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
		if gone, _ := ws.Gone(); gone {
			t.Error("the workspace is gone")
		}
	})
	t.Run("a record whose log cannot be kept", func(t *testing.T) {
		d := newFixture(t)
		d.ended("00001-a", "one.txt")
		d.resumed("00001-a", "00002-b", "two.txt")
		if _, err := d.Accept(t.Context(), "00002-b", everything); err != nil {
			t.Fatal(err)
		}
		d.aged("00001-a", 2*month)
		d.aged("00002-b", 2*month)
		d.write(filepath.Join(d.dirs.State, "audit"), "a file in the place of the folder")
		r := d.failing(func(*Options) {})
		if got := freed(r); got != "workspaces 1: project" {
			t.Errorf("freed is\n%s", got)
		}
		if ids, _ := d.store.IDs(); !slices.Equal(ids, []session.ID{"00001-a", "00002-b"}) {
			t.Errorf("these are left: %v", ids)
		}
	})
	t.Run("the refs of saved states", func(t *testing.T) {
		d := newFixture(t)
		ws := d.accepted("00001-a", "one.txt")
		d.predate(ws.GitDir, 2*month)
		r := d.failing(func(o *Options) {
			o.step = func(what string) {
				if what == "saved states of "+ws.GitDir {
					d.write(filepath.Join(ws.GitDir, "packed-refs.lock"), "")
					d.write(filepath.Join(ws.GitDir, "refs/aibox/00001-a/1.lock"), "")
				}
			}
		})
		if len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
	})
}

func TestASandboxThatCannotBeRemovedDoesNotKeepTheOthers(t *testing.T) {
	d := newFixture(t)
	var made []runtime.Sandbox
	for _, id := range []session.ID{"00001-a", "00002-b"} {
		one, err := d.daemon.Create(t.Context(), runtime.Spec{Session: d.store.SandboxName(id), Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: string(id)}})
		d.must(err)
		made = append(made, one)
	}
	calls := 0
	d.daemon.Fail = func(call string) error {
		if call != "destroy" {
			return nil
		}
		if calls++; calls == 1 {
			return errors.New("the daemon is busy")
		}
		return nil
	}
	r := d.failing(func(*Options) {})
	if got, want := freed(r), "sandboxes 1: "+d.store.SandboxName("00002-b"); got != want {
		t.Errorf("freed is %q, not %q", got, want)
	}
	if state, err := made[1].State(t.Context()); err != nil || state.Status != runtime.Gone {
		t.Errorf("the second is %v, %v", state.Status, err)
	}
}
