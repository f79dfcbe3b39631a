package cli

import (
	"testing"

	"aibox/review"
	"aibox/session/comparison"
)

func TestTheTableOfFilesNamesAChangeOfOnlyTheMode(t *testing.T) {
	for want, change := range map[string]*comparison.Change{
		"M now executable":       {Kind: review.ModeChanged, Mode: "100755"},
		"M no longer executable": {Kind: review.ModeChanged, Mode: "100644"},
		"M +2 -1":                {Kind: review.Modified, Added: 2, Deleted: 1},
	} {
		if got := cell(change); got != want {
			t.Errorf("%+v is %q, not %q", change, got, want)
		}
	}
}
