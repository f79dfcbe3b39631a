package scan

import (
	"strings"
	"testing"

	"aibox/review"
	"aibox/workspace"
)

// spelling returns the letters of "a…" with those as capitals that are set in n.
func spelling(n int) string {
	var b strings.Builder
	for bit := range 20 {
		b.WriteByte('a' - byte(n>>bit&1)*('a'-'A'))
	}
	return b.String()
}

// TestManySpellingsOfOneNameAreComparedInLinearTime has as many changes as a list can have,
// all of whose names differ in case only. Comparing each with each takes minutes.
func TestManySpellingsOfOneNameAreComparedInLinearTime(t *testing.T) {
	var changes []review.Change
	for i := range review.MaxListed {
		changes = append(changes, review.Change{Kind: review.Added, Path: review.Path(spelling(i) + "/" + spelling(i))})
	}
	found := findNameConflicts(changes, &workspace.Baseline{Files: []workspace.File{{Path: spelling(0) + "/b"}}})
	if len(found) != len(changes) {
		t.Errorf("%d of %d conflicts", len(found), len(changes))
	}
}

func TestAConflictNamesTheOtherSpelling(t *testing.T) {
	changes := []review.Change{{Kind: review.Added, Path: "a/X"}, {Kind: review.Added, Path: "A/x"}, {Kind: review.Added, Path: "b/x"}, {Kind: review.Added, Path: "c/y"}}
	found := findNameConflicts(changes, &workspace.Baseline{Files: []workspace.File{{Path: "B/x"}, {Path: "C/z"}, {Path: "d"}}})
	for path, other := range map[string]string{"a/X": "A in case", "A/x": "a in case", "b/x": "B in case", "c/y": "C in case"} {
		if got := found[path]; !strings.Contains(got, "from "+other) {
			t.Errorf("%s: %q", path, got)
		}
	}
}
