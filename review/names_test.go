package review

import (
	"fmt"
	"testing"
)

// TestEveryFileOfALongListIsSelectedByItsName names all changes, as the review screen does.
// Searching the list for each name takes minutes.
func TestEveryFileOfALongListIsSelectedByItsName(t *testing.T) {
	cs, choice := &ChangeSet{}, Choice{}
	for i := range 4 * MaxListed {
		path := Path(fmt.Sprintf("folder %d/file %d\x1b", i%100, i))
		cs.Changes = append(cs.Changes, Change{Kind: Added, Path: path})
		choice.Files, choice.Risky = append(choice.Files, path.Raw()), append(choice.Risky, path.String())
	}
	selection, err := cs.Select(t.Context(), choice)
	if err != nil || len(selection.Taken) != len(cs.Changes) {
		t.Errorf("%d of %d files, %v", len(selection.Taken), len(cs.Changes), err)
	}
}

func TestAChangeIsFoundByItsPathBeforeAnotherOnesOldPath(t *testing.T) {
	cs := &ChangeSet{Changes: []Change{
		{Kind: Renamed, OldPath: "a", Path: "b"}, {Kind: Added, Path: "a"}, {Kind: Added, Path: `c\x1b`}, {Kind: Added, Path: "c\x1b"}, {Kind: Renamed, OldPath: "d\n", Path: "e"},
	}}
	names := cs.Names()
	for name, want := range map[string]int{"b": 0, "a": 1, "./a": 1, `c\x1b`: 2, `c\\x1b`: 2, "c\x1b": 3, `d\n`: 4} {
		if got := names.Named(name); got != &cs.Changes[want] {
			t.Errorf("%q names %v", name, got)
		}
	}
	if got := names.Named("x"); got != nil {
		t.Errorf("x names %v", got)
	}
}
