package manager

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/review"
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
