package comparison

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"aibox/review"
	"aibox/session"
	"aibox/session/summary"
)

// results are the stored results of sessions.
type results struct {
	sets  map[session.ID]*review.ChangeSet
	tests map[session.ID]bool
}

func (r results) FinalChanges(id session.ID) (*review.ChangeSet, error) {
	if set := r.sets[id]; set != nil {
		return set, nil
	}
	return nil, fs.ErrNotExist
}

func (r results) Verifications(id session.ID) ([]session.Verification, error) {
	passed, ok := r.tests[id]
	if !ok {
		return nil, nil
	}
	v := session.Verification{}
	if !passed {
		v.ExitCode = 1
	}
	return []session.Verification{{ExitCode: 1}, v}, nil
}

func changed(path, blob string, added, deleted int) review.Change {
	return review.Change{Path: review.Path(path), Kind: review.Modified, NewMode: "100644", NewBlob: blob, Added: added, Deleted: deleted}
}

func ended(id session.ID, batch session.BatchID) session.Session {
	one := session.Session{Spec: session.Spec{ID: id, Agent: id.Agent(), Batch: batch}}
	one.State.Phase = session.Ended
	one.State.Result = &session.Result{Changed: true, Seconds: 90, Models: []session.ModelUsage{{Model: "qwen3"}}}
	return one
}

func TestResultsAreComparedSideBySide(t *testing.T) {
	running := session.Session{Spec: session.Spec{ID: "00004-d", Agent: "d", Batch: "b-0"}, State: session.State{Phase: session.Running}}
	source := results{
		sets: map[session.ID]*review.ChangeSet{
			"00001-a": {GitDir: "g", Tree: "t1", Changes: []review.Change{changed("a.go", "x", 1, 2), changed("b.go", "y", 3, 0)}},
			"00002-b": {GitDir: "g", Tree: "t2", Changes: []review.Change{changed("a.go", "x", 1, 2)}},
			"00003-c": {GitDir: "g", Tree: "t1", Changes: []review.Change{changed("a.go", "z", 5, 5), changed("b.go", "y", 3, 0)}},
			"00004-d": {GitDir: "g", Tree: "t9", Changes: []review.Change{changed("so/far", "y", 3, 0)}},
		},
		tests: map[session.ID]bool{"00001-a": true, "00002-b": false},
	}
	c := New([]session.Session{running, ended("00002-b", "b-0"), ended("00003-c", "b-0"), ended("00001-a", "b-0")}, source)
	if c.Batch != "b-0" || len(c.Members) != 4 || len(c.Files) != 2 {
		t.Fatalf("got %+v", c)
	}
	first, second, third, fourth := &c.Members[0], &c.Members[1], &c.Members[2], &c.Members[3]
	if first.ID != "00001-a" || !first.Known || first.Files != 2 || first.Added != 4 || first.Deleted != 2 || first.Verified != Passed || first.Model != "qwen3" || first.ExitCode == nil {
		t.Errorf("the first is %+v", first)
	}
	if second.Verified != Failed || third.SameAs != "00001-a" || second.SameAs != "" || third.Verified != NotVerified {
		t.Errorf("the others are %+v, %+v", second, third)
	}
	if fourth.Known || fourth.ExitCode != nil || fourth.Status != summary.StatusRunning {
		t.Errorf("the running one is %+v", fourth)
	}
	a := &c.Files[0]
	if a.Path != "a.go" || !a.Shared() || a.Of("00002-b").SameAs != "00001-a" || a.Of("00003-c").SameAs != "" || a.Of("00004-d") != nil {
		t.Errorf("a.go: %+v", a)
	}
	if b := &c.Files[1]; b.Of("00002-b") != nil || b.Of("00003-c").SameAs != "00001-a" {
		t.Errorf("b.go: %+v", b)
	}
}

func TestSessionsOfSeveralBatchesHaveNone(t *testing.T) {
	c := New([]session.Session{ended("00001-a", "b-1"), ended("00002-b", "b-2")}, results{})
	if c.Batch != "" || c.Members[0].Known {
		t.Errorf("got %+v", c)
	}
	if ids := slices.Collect(func(yield func(session.ID) bool) {
		for _, m := range c.Members {
			if !yield(m.ID) {
				return
			}
		}
	}); !slices.Equal(ids, []session.ID{"00001-a", "00002-b"}) {
		t.Errorf("members %q", ids)
	}
}

func TestResultsThatCannotBeComparedAreRefused(t *testing.T) {
	known := &Member{ID: "00001-a", Known: true, Dir: "g", Tree: "t"}
	for _, other := range []*Member{{ID: "00002-b"}, {ID: "00002-b", Known: true, Dir: "h", Tree: "t"}} {
		if _, err := Difference(t.Context(), known, other); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", other, err)
		}
	}
}

func TestAChangeOfABinaryFileHasItsSize(t *testing.T) {
	set := &review.ChangeSet{Changes: []review.Change{
		{Path: "logo.png", Kind: review.Modified, NewBlob: "x", Size: 3000, Binary: true},
		{Path: "old.png", Kind: review.Deleted, Binary: true},
	}}
	c := New([]session.Session{ended("00001-a", "")}, results{sets: map[session.ID]*review.ChangeSet{"00001-a": set}})
	for i, size := range []int64{3000, 0} {
		if got := c.Files[i].Of("00001-a"); !got.Binary || got.Size != size {
			t.Errorf("%s: %+v", c.Files[i].Path, got)
		}
	}
}
