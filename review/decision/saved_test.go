package decision

import (
	"encoding/json"
	"testing"

	"aibox/review"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSavedDecisionsAreRestored(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	load := func(d *Draft) *Draft {
		for i := range d.Len() {
			d.Load(i, hunks[d.File(i).Change.Path])
		}
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		d := driver{load(New(changesOf(set), Options{})), hunks}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			d.act(t)
		}
		data, err := json.Marshal(d.Save(set))
		if err != nil {
			t.Fatal(err)
		}
		saved := new(Saved)
		if err := json.Unmarshal(data, saved); err != nil {
			t.Fatal(err)
		}
		if err := saved.Check(set); err != nil {
			t.Fatal(err)
		}
		needed := map[review.Path][]review.Hunk{}
		for _, path := range saved.Detailed() {
			needed[path] = hunks[path]
		}
		again := New(changesOf(set), Options{})
		again.Restore(saved, needed)
		if diff := cmp.Diff(d.Choice(), again.Choice()); diff != "" {
			t.Fatalf("before any file is read (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(viewOf(d.Draft), viewOf(load(again))); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", data, diff)
		}
	})
}

func TestDecisionsOfOtherChangesAreNotRestored(t *testing.T) {
	set := example(t)
	d := New(changesOf(set), Options{})
	if !d.Save(set).Empty() {
		t.Error("a draft without decisions is not empty")
	}
	_ = d.DecideFile(d.Find("src/new"), Accepted, false)
	saved := d.Save(set)
	other := *set
	other.Tree = set.BaseTree
	if saved.Check(set) != nil || saved.Check(&other) == nil {
		t.Errorf("%v, %v", saved.Check(set), saved.Check(&other))
	}
	saved.Files[0].Path = "never"
	if saved.Check(set) == nil {
		t.Error("a file that was not changed has a decision")
	}
	if err := json.Unmarshal([]byte(`"maybe"`), new(Decision)); err == nil {
		t.Error("maybe is a decision")
	}
}

func TestARiskThatAppearsLaterNeedsConsentAgain(t *testing.T) {
	set := example(t)
	saved := &Saved{Base: set.BaseTree, Tree: set.Tree, Files: []SavedFile{{Path: "Makefile", Decision: Accepted}}}
	d := New(changesOf(set), Options{})
	if files := d.Restore(saved, nil); files != 0 || !d.Choice().Empty() {
		t.Errorf("%d files, %+v", files, d.Choice())
	}
}
