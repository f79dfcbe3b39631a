package workspace

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"aibox/internal/git"
)

// Whatever the versions of a tree, and in whatever order their entries are, each entry is visited in
// the first version that has it.
func TestEveryEntryOfAnyVersionOfATreeIsVisited(t *testing.T) {
	format := git.Format("sha1")
	rapid.Check(t, func(t *rapid.T) {
		visited := map[string]bool{}
		var earlier []byte
		for range rapid.IntRange(1, 6).Draw(t, "versions") {
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a.b", "a0", "b", "c", "d"}), 0, 6, rapid.ID).Draw(t, "names")
			if rapid.Bool().Draw(t, "sorted") {
				slices.Sort(names)
			}
			var tree []byte
			for _, name := range names {
				id := rapid.SampledFrom([]string{"11111111111111111111", "\x00\x00222222222222222222", "3333 333333333333333"}).Draw(t, "id")
				mode := rapid.SampledFrom([]string{"100644", "40000", "160000"}).Draw(t, "mode")
				tree = fmt.Appendf(tree, "%s %s\x00%s", mode, name, id)
			}
			if err := eachNewEntry(earlier, tree, format, func(e treeEntry) error { visited[string(e.raw)] = true; return nil }); err != nil {
				t.Fatal(err)
			}
			if err := eachEntry(tree, format, func(e treeEntry) error {
				if !visited[string(e.raw)] {
					t.Fatalf("%q was not visited", e.raw)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			earlier = tree
		}
	})
}

func TestADamagedTreeIsAnError(t *testing.T) {
	format := git.Format("sha1")
	whole := "100644 a\x0011111111111111111111"
	for _, tree := range []string{"100644", "100644 a", whole[:len(whole)-1], "mode a\x0011111111111111111111", whole + "x"} {
		if err := eachNewEntry([]byte(whole), []byte(tree), format, func(treeEntry) error { return nil }); err == nil {
			t.Errorf("%q is taken for a tree", tree)
		}
	}
}
