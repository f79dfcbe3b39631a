package printer

import (
	"fmt"
	"testing"

	"aibox/review"
)

func TestAFolderInThePlaceOfARenamedSymlinkIsFound(t *testing.T) {
	renamed := review.Change{Kind: review.Renamed, OldMode: "120000", OldPath: "a/link", Path: "b"}
	for name, c := range map[string]struct {
		changes []review.Change
		want    bool
	}{
		"a folder in its place":       {[]review.Change{renamed, {Kind: review.Added, Path: "a/link/x/y"}}, true},
		"before it in the list":       {[]review.Change{{Kind: review.Added, Path: "a/link/x"}, renamed}, true},
		"another folder":              {[]review.Change{renamed, {Kind: review.Added, Path: "a/linked/x"}}, false},
		"a file, not a symlink":       {[]review.Change{{Kind: review.Renamed, OldMode: "100644", OldPath: "d", Path: "e"}, {Kind: review.Added, Path: "d/x"}}, false},
		"a symlink that is not moved": {[]review.Change{{Kind: review.Deleted, OldMode: "120000", Path: "d"}, {Kind: review.Added, Path: "d/x"}}, false},
	} {
		if got := movesSymlinkForFolder(&review.ChangeSet{Changes: c.changes}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestManyRenamedSymlinksAreComparedInLinearTime has so many changes that comparing each with each
// takes minutes.
func TestManyRenamedSymlinksAreComparedInLinearTime(t *testing.T) {
	const many = 50_000
	changes := make([]review.Change, 0, 2*many)
	for i := range many {
		changes = append(changes,
			review.Change{Kind: review.Renamed, OldMode: "120000", OldPath: review.Path(fmt.Sprintf("folder/link%d", i)), Path: review.Path(fmt.Sprintf("moved/link%d", i))},
			review.Change{Kind: review.Added, Path: review.Path(fmt.Sprintf("folder/file%d", i))})
	}
	if movesSymlinkForFolder(&review.ChangeSet{Changes: changes}) {
		t.Error("no folder takes the place of a symlink")
	}
}
