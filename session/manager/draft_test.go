package manager

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/session"
)

func TestADraftIsKeptPrivateAndReadForItsChangesOnly(t *testing.T) {
	f := newFixture(t)
	const id = session.ID("00001-a")
	f.ended(id, "one.txt")
	set := &review.ChangeSet{BaseTree: "b", Tree: "t", Changes: []review.Change{{Path: "a"}}}
	saved := &decision.Saved{Base: "b", Tree: "t", Files: []decision.SavedFile{{Path: "a", Decision: decision.Accepted}}}
	if err := f.SaveDraft(id, saved); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(f.store.Dir(id), draftFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got, err := f.Draft(id, set); err != nil || got.Empty() || got.Files[0].Decision != decision.Accepted {
		t.Errorf("%+v, %v", got, err)
	}
	other := *set
	other.Tree = "u"
	if got, err := f.Draft(id, &other); got != nil || err != nil {
		t.Errorf("of other changes: %+v, %v", got, err)
	}
	for _, text := range []string{"{", `{"files":[{"path":"a","decision":"maybe"}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Draft(id, set); got != nil || err == nil {
			t.Errorf("of %s: %+v, %v", text, got, err)
		}
	}
	for range 2 {
		f.must(f.SaveDraft(id, &decision.Saved{}))
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Error(err)
		}
	}
	f.must(f.SaveDraft(id, saved))
	if _, err := f.Discard(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("discarded work has a draft: %v", err)
	}
}

// The next review would show what is delivered as accepted once more.
func TestAnAcceptDropsSavedDecisionsOnlyAboutWhatItDelivers(t *testing.T) {
	f := newFixture(t)
	const id = session.ID("00001-a")
	text := strings.Repeat("line\n", 30)
	f.write(filepath.Join(f.repo, "a.txt"), text)
	ws := f.prepared(id)
	f.write(filepath.Join(ws.Path, "a.txt"), "first\n"+text+"last\n")
	f.write(filepath.Join(ws.Path, "b.txt"), "b\n")
	f.write(filepath.Join(ws.Path, "c.txt"), "c\n")
	f.write(filepath.Join(ws.Path, "d.txt"), "d\n")
	f.end(id, ws)
	set, err := f.Changes(t.Context(), id)
	f.must(err)
	var hunks []review.Hunk
	f.must(set.Files(t.Context(), func(file review.FileDiff) error {
		hunks = file.Hunks
		return nil
	}, "a.txt"))
	taken, rejected := hunks[0].ID, hunks[1].ID
	f.must(f.SaveDraft(id, &decision.Saved{Base: set.BaseTree, Tree: set.Tree, Files: []decision.SavedFile{
		{Path: "a.txt", Decision: decision.Accepted, Hunks: map[review.HunkID]decision.Decision{rejected: decision.Rejected}, Notes: map[review.HunkID]string{rejected: "no"}},
		{Path: "b.txt", Decision: decision.Accepted},
		{Path: "c.txt", Decision: decision.Accepted},
		{Path: "d.txt", Decision: decision.Rejected},
	}}))
	_, err = f.Accept(t.Context(), id, accept.Options{Choice: review.Choice{Files: []string{"b.txt"}, Hunks: []string{string(taken)}}, Message: "Work"})
	f.must(err)
	saved, err := f.Draft(id, set)
	f.must(err)
	want := []decision.SavedFile{
		{Path: "a.txt", Hunks: map[review.HunkID]decision.Decision{rejected: decision.Rejected}, Notes: map[review.HunkID]string{rejected: "no"}},
		{Path: "c.txt", Decision: decision.Accepted},
		{Path: "d.txt", Decision: decision.Rejected},
	}
	if !reflect.DeepEqual(saved.All(), want) {
		t.Errorf("left is %+v", saved.All())
	}
	f.must(f.SaveDraft(id, &decision.Saved{Base: set.BaseTree, Tree: set.Tree, Files: []decision.SavedFile{
		{Path: "a.txt", Decision: decision.Accepted},
		{Path: "b.txt", Decision: decision.Rejected, Notes: map[review.HunkID]string{taken: "no"}},
		{Path: "c.txt", Decision: decision.Accepted},
	}}))
	_, err = f.Accept(t.Context(), id, accept.Options{Choice: review.Choice{Files: []string{"c.txt"}}, Message: "Work"})
	f.must(err)
	saved, err = f.Draft(id, set)
	f.must(err)
	want = []decision.SavedFile{
		{Path: "a.txt", Decision: decision.Accepted},
		{Path: "b.txt", Decision: decision.Rejected, Notes: map[review.HunkID]string{taken: "no"}},
	}
	if !reflect.DeepEqual(saved.All(), want) {
		t.Errorf("left of the files that earlier accepts delivered is %+v", saved.All())
	}
	f.must(f.SaveDraft(id, &decision.Saved{Base: set.BaseTree, Tree: set.Tree, Files: []decision.SavedFile{{Path: "a.txt", Decision: decision.Accepted}, {Path: "d.txt", Decision: decision.Rejected}}}))
	_, err = f.Accept(t.Context(), id, everything)
	f.must(err)
	if _, err := os.Stat(filepath.Join(f.store.Dir(id), draftFile)); !os.IsNotExist(err) {
		t.Errorf("delivered work has a draft: %v", err)
	}
}
