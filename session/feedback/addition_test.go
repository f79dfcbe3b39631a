package feedback

import (
	"testing"
	"time"

	"aibox/review"
)

func TestStoredFeedbackIsEqualToWhatWasStored(t *testing.T) {
	f := Feedback{
		Comments: []Comment{{Number: 1, Path: "caf\xe9.txt", Quote: "\xe9", Text: "here", Made: time.Now()}},
		Rejected: []Rejection{{Hunk: "0123", Path: "a.txt", Diff: "+\xe9\n", Made: time.Now().UTC()}},
	}
	stored, err := f.reread()
	if err != nil || !stored.Equal(f) || !f.Equal(stored) {
		t.Errorf("%+v was stored as %+v, %v", f, stored, err)
	}
	for _, change := range []func(*Feedback){
		func(f *Feedback) { f.Comments[0].Sent = "10000-codex" },
		func(f *Feedback) { f.Rejected = append(f.Rejected, Rejection{Hunk: review.HunkID("4567")}) },
		func(f *Feedback) { f.Comments[0].Text = "there" },
	} {
		other := f.Clone()
		change(&other)
		if f.Equal(other) {
			t.Errorf("%+v is equal to %+v", other, f)
		}
	}
}
