package manager

import (
	"context"
	"testing"
)

// A list computes changes that are unknown because of a full disk, as soon as there is
// space, but only a limited number of times.
func TestAListComputesChangesThatAFullDiskLeftUnknown(t *testing.T) {
	d := newFixture(t)
	unknown := func(id ID, changes Changes) {
		d.died(id, Computing, &Result{})
		session := d.loaded(id)
		session.State.Phase, session.State.Ended, session.State.Result.Changes = Ended, now(), changes
		d.must(d.store.write(id, stateFile, session.State))
	}
	unknown("00001-a", Changes{Unknown: "the disk is full", Disk: true})
	unknown("00002-a", Changes{Unknown: "the disk is full", Disk: true, Tries: maxTries})
	unknown("00003-a", Changes{Unknown: diedComputing}) // this would kill the list, too
	if !d.ComputeUnknown(t.Context()) {
		t.Error("nothing was computed")
	}
	for id, known := range map[ID]bool{"00001-a": true, "00002-a": false, "00003-a": false} {
		result := d.loaded(id).State.Result
		if result.LacksChanges() == known || result.Changed != known || known != (result.Changes.Files == 1) {
			t.Errorf("%s stands as %+v", id, result)
		}
	}
	if d.ComputeUnknown(t.Context()) {
		t.Error("it is computed again")
	}
	for _, id := range []ID{"00002-a", "00003-a"} {
		if got := d.files(id); got != "made.txt" {
			t.Errorf("asked for, %s changed %q", id, got)
		}
	}
}

func TestACanceledRecomputeKeepsTheRecord(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", Computing, &Result{})
	session := d.loaded("00001-a")
	session.State.Phase, session.State.Result.Changes = Ended, Changes{Unknown: "the disk is full", Disk: true, Tries: 1}
	d.must(d.store.write("00001-a", stateFile, session.State))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Changes(ctx, "00001-a"); err == nil {
		t.Fatal("it was not broken off")
	}
	if got := d.loaded("00001-a").State.Result.Changes; got.Unknown != "the disk is full" || !got.Disk || got.Tries != 1 {
		t.Errorf("on record is %+v", got)
	}
}
