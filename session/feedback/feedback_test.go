package feedback

import (
	"slices"
	"strings"
	"testing"

	"aibox/review"
)

func TestTooManyHunksAreNotSearchedFor(t *testing.T) {
	var f Feedback
	err := f.Reject(t.Context(), "fix-login", &review.ChangeSet{}, slices.Repeat([]review.HunkID{"abc"}, MaxRejections+1), "")
	if err == nil || !strings.Contains(err.Error(), "more than 1000 hunks") {
		t.Errorf("got %v", err)
	}
}
