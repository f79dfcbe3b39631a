package manager

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/sessiontest"
)

func TestChangesAreCountedOnlyWhileASessionRuns(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-a")
	sessiontest.Put(t, d.store, "00001-a", session.State{Phase: session.Running, Workspace: ws})
	for _, want := range []session.Changes{{}, {Files: 1, Added: 1, Deleted: 2}, {Files: 2, Added: 4, Deleted: 2}} {
		got, err := d.CountChanges(t.Context(), "00001-a")
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("counted %+v, not %+v, %v", got, want, err)
		}
		if got.Files == 0 {
			d.write(filepath.Join(ws.Path, "a.txt"), "another\n")
		} else {
			d.write(filepath.Join(ws.Path, "new/c.txt"), "1\n2\n3\n")
		}
	}
	for _, state := range []session.State{{Phase: session.Ended, Workspace: ws}, {Phase: session.Preparing, Workspace: ws}, {Phase: session.Running}} {
		sessiontest.Put(t, d.store, "00001-a", state)
		if got, err := d.CountChanges(t.Context(), "00001-a"); err == nil {
			t.Errorf("%+v of a session that does not run", got)
		}
	}
}

func TestTheChangesSoFarAreThoseInTheRunningWorkspace(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-a")
	sessiontest.Put(t, d.store, "00001-a", session.State{Phase: session.Running, Workspace: ws})
	d.write(filepath.Join(ws.Path, "a.txt"), "another\n")
	var patch strings.Builder
	err := d.ChangesSoFar(t.Context(), "00001-a", func(set *review.ChangeSet) error {
		if len(set.Changes) != 1 || !strings.Contains(strings.Join(set.Notes, "\n"), "so far") {
			t.Errorf("%+v, %q", set.Changes, set.Notes)
		}
		return printer.Patch(t.Context(), set, &patch)
	})
	if err != nil || !strings.Contains(patch.String(), "+another") {
		t.Errorf("%v:\n%s", err, patch.String())
	}
	sessiontest.Put(t, d.store, "00001-a", session.State{Phase: session.Ended, Workspace: ws})
	if d.ChangesSoFar(t.Context(), "00001-a", func(*review.ChangeSet) error { return nil }) == nil {
		t.Error("a session that has ended has changes so far")
	}
}
