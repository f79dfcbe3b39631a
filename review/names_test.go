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
		{Kind: Renamed, OldPath: "a", Path: "b"},
		{Kind: Added, Path: "a"},
		{Kind: Added, Path: `c\x1b`},
		{Kind: Added, Path: "c\x1b"},
		{Kind: Renamed, OldPath: "d\n", Path: "e"},
		{Kind: Added, Path: `f\g`},
	}}
	names := cs.Names()
	for name, want := range map[string]int{"b": 0, "a": 1, "./a": 1, `c\x1b`: 3, `c\\x1b`: 2, "c\x1b": 3, `d\n`: 4, `f\g`: 5, `f\\g`: 5} {
		if got := names.Named(name); got != &cs.Changes[want] {
			t.Errorf("%q names %v", name, got)
		}
	}
	if got := names.Named("x"); got != nil {
		t.Errorf("x names %v", got)
	}
}

// TestAFileIsNotTakenForOneThatIsShownUnderItsName has a file whose name is what the other one
// is shown as: a user who has read the list names the other one, and a program names each
// exactly.
func TestAFileIsNotTakenForOneThatIsShownUnderItsName(t *testing.T) {
	escape, backslash := Path("run\x1b"), Path(`run\x1b`)
	cs := &ChangeSet{Changes: []Change{{Kind: Added, Path: backslash}, {Kind: Added, Path: escape}}}
	for _, want := range []Path{escape, backslash} {
		selection, err := cs.Select(t.Context(), Choice{Files: []string{want.String()}, Risky: []string{want.String()}})
		if err != nil || len(selection.Taken) != 1 || selection.Taken[0].Path != want {
			t.Errorf("%s selects %+v, %v", want, selection, err)
		}
		if got := cs.Names().At(want); got == nil || got.Path != want {
			t.Errorf("at %s is %v", want, got)
		}
	}
}
