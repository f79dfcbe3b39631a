package manager

import (
	"context"
	"testing"

	"aibox/session"
)

// A list computes changes that are unknown because of a full disk, as soon as there is
// space, but only a limited number of times.
func TestAListComputesChangesThatAFullDiskLeftUnknown(t *testing.T) {
	d := newFixture(t)
	unknown := func(id session.ID, changes session.Changes) {
		d.died(id, session.Computing, &session.Result{})
		record := d.loaded(id)
		record.State.Phase, record.State.Ended, record.State.Result.Changes = session.Ended, session.Now(), changes
		d.must(d.store.Write(id, session.StateFile, record.State))
	}
	unknown("00001-a", session.Changes{Unknown: "the disk is full", Disk: true})
	unknown("00002-a", session.Changes{Unknown: "the disk is full", Disk: true, Tries: maxTries})
	unknown("00003-a", session.Changes{Unknown: diedComputing}) // this would kill the list, too
	if !d.ComputeUnknown(t.Context()) {
		t.Error("nothing was computed")
	}
	for id, known := range map[session.ID]bool{"00001-a": true, "00002-a": false, "00003-a": false} {
		result := d.loaded(id).State.Result
		if result.LacksChanges() == known || result.Changed != known || known != (result.Changes.Files == 1) {
			t.Errorf("%s stands as %+v", id, result)
		}
	}
	if d.ComputeUnknown(t.Context()) {
		t.Error("it is computed again")
	}
	for _, id := range []session.ID{"00002-a", "00003-a"} {
		if got := d.files(id); got != "made.txt" {
			t.Errorf("asked for, %s changed %q", id, got)
		}
	}
}

func TestACanceledRecomputeKeepsTheRecord(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", session.Computing, &session.Result{})
	record := d.loaded("00001-a")
	record.State.Phase, record.State.Result.Changes = session.Ended, session.Changes{Unknown: "the disk is full", Disk: true, Tries: 1}
	d.must(d.store.Write("00001-a", session.StateFile, record.State))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Changes(ctx, "00001-a"); err == nil {
		t.Fatal("it was not broken off")
	}
	if got := d.loaded("00001-a").State.Result.Changes; got.Unknown != "the disk is full" || !got.Disk || got.Tries != 1 {
		t.Errorf("on record is %+v", got)
	}
}
