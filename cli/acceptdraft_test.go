package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/session"
)

// storedDraft stores a draft.
type storedDraft struct{ saved *decision.Saved }

func (s *storedDraft) Draft(session.ID, *review.ChangeSet) (*decision.Saved, error) {
	return s.saved, nil
}

func (s *storedDraft) SaveDraft(_ session.ID, saved *decision.Saved) error {
	s.saved = saved
	return nil
}

func TestAnInterruptedPromptContinuesAfterTheLastAnswer(t *testing.T) {
	files := threeFiles()
	set := &review.ChangeSet{BaseTree: "b", Tree: "t"}
	var changes []*review.Change
	for _, f := range files {
		changes = append(changes, f.Change)
	}
	stored := &storedDraft{saved: &decision.Saved{Files: []decision.SavedFile{{Path: "elsewhere", Decision: decision.Accepted}}}}
	run := func(answers string) (*hunkPrompt, string, error) {
		var out strings.Builder
		p := &hunkPrompt{
			in: &lines{in: bufio.NewReader(strings.NewReader(answers))}, out: &out, t: terminal{width: 80},
			load: func(_ context.Context, path review.Path) (review.FileDiff, error) {
				return files[slices.IndexFunc(files, func(f review.FileDiff) bool { return f.Change.Path == path })], nil
			},
			draft: decision.New(changes, decision.Options{HunksOnly: true}),
		}
		err := new(console).continueDraft(t.Context(), p, stored, "0aaaa", set)
		if err == nil {
			err = p.run(t.Context())
		}
		return p, out.String(), err
	}
	if _, text, err := run("yes\nn\ny\n"); !errors.Is(err, io.EOF) || strings.Contains(text, "Continue") {
		t.Fatalf("%v:\n%s", err, text)
	}
	p, text, err := run("y\ny\ny\ny\n") // the rest of file a, then b
	if err != nil || strings.Contains(text, "-old a 3\n") || strings.Contains(text, "zz  file") {
		t.Errorf("%v, asked again:\n%s", err, text)
	}
	if got := p.draft.Choice(); !slices.Equal(got.Hunks, []string{"z1", "a1", "a2", "a3", "b1"}) || !slices.Equal(got.Risky, []string{"zz"}) {
		t.Errorf("chosen %+v", got)
	}
	if err := p.clear(); err != nil || len(stored.saved.Files) != 1 || stored.saved.Files[0].Path != "elsewhere" {
		t.Errorf("%v, %+v", err, stored.saved)
	}
	if err := p.save(); err != nil {
		t.Error(err)
	}
	if p, text, _ = run("n\nn\nn\n"); p.draft.File(0).HasUndecided() || !strings.Contains(text, "zz") {
		t.Errorf("after no, not everything is asked about:\n%s", text)
	}
}

// A script would take the accept for failed, and repeat it.
func TestADraftThatCannotBeRemovedDoesNotFailTheDelivery(t *testing.T) {
	a, out, errOut := testApp(t)
	o := acceptOptions{cli: a, delivered: func() error { return errors.New("no space is left") }}
	o.removeDraft()
	if got := errOut.String(); got != "! your decisions are still stored: no space is left\n" || out.Len() > 0 {
		t.Errorf("it printed %q and %q", out, got)
	}
}
