package cli

import (
	"testing"

	"aibox/review"
	"aibox/session/comparison"
)

func TestTheTableOfFilesSaysWhatAChangeWithoutLinesIs(t *testing.T) {
	for want, change := range map[string]*comparison.Change{
		"M now executable":       {Kind: review.ModeChanged, Mode: "100755"},
		"M no longer executable": {Kind: review.ModeChanged, Mode: "100644"},
		"M +2 -1":                {Kind: review.Modified, Added: 2, Deleted: 1},
		"M binary, 2.9 KiB":      {Kind: review.Modified, Binary: true, Size: 3000},
		"A binary, 0 B":          {Kind: review.Added, Binary: true},
		"D binary":               {Kind: review.Deleted, Binary: true},
	} {
		if got := cell(change); got != want {
			t.Errorf("%+v is %q, not %q", change, got, want)
		}
	}
}
