package cli

import (
	"strings"
	"testing"
	"time"

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

func TestASingleSessionHasNothingToCompareItWith(t *testing.T) {
	for line, want := range map[string]string{
		"compare 0dq4f":             "it belongs to no batch",
		"compare 0dq4f 0dq4f":       "it is the only session that you named",
		"compare 0dq4f 0dq4f-shell": "it is the only session that you named",
	} {
		a, _, _ := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		if err := a.execute(t.Context(), strings.Fields(line)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
