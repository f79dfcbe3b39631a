package risk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestManyFilesOfOneNameAreSearchedForInLinearTime has a workflow that names files again and
// again, and as many files with that last name as a list can have. Comparing each name with
// each file takes minutes.
func TestManyFilesOfOneNameAreSearchedForInLinearTime(t *testing.T) {
	var paths []string
	var text strings.Builder
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("d/%d/index.js", i))
		fmt.Fprintf(&text, "e/%d/index.js\nindex.js\n", i)
	}
	c, ok := CallerOf(".github/workflows/a.yml", []byte(text.String()))
	if !ok {
		t.Fatal("it is no caller")
	}
	found := Called(paths, func(int) bool { return false }, slices.Values([]Caller{c, c, c}))
	if len(found) != len(paths) {
		t.Errorf("%d of %d files are found", len(found), len(paths))
	}
}

// TestManyFoldersAndPatternsAreSearchedForInBoundedTime has a hook of as many of them as fit. What
// was not tried counts as named.
func TestManyFoldersAndPatternsAreSearchedForInBoundedTime(t *testing.T) {
	var paths []string
	for i := range 20_000 {
		paths = append(paths, strings.Repeat("d/", 1+i%40)+fmt.Sprintf("e/%d.sh", i))
	}
	for name, line := range map[string]string{
		"patterns": "for f in d/*%d*%[1]d?*; do\n", "folders": "run-parts d/%d\n", "everything": "sh d/**/%d*.py\n",
	} {
		var text strings.Builder
		for i := 0; text.Len() < MaxCaller-100; i++ {
			fmt.Fprintf(&text, line, i)
		}
		c, ok := CallerOf(".husky/pre-commit", []byte(text.String()))
		if !ok {
			t.Fatal("it is no caller")
		}
		found := Called(paths, func(int) bool { return false }, slices.Values([]Caller{c, c, c}))
		if name == "patterns" && len(found) != len(paths) {
			t.Errorf("%s: %d of %d files are found", name, len(found), len(paths))
		}
	}
}

func TestTheSearchForCalledFilesFindsWhatTryingEachFileFinds(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "a.js", "ba.js", "a.x", ".js", "b.py", "A_B"})
	name := rapid.Map(rapid.SliceOfN(part, 1, 4), func(parts []string) string { return strings.Join(parts, "/") })
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfN(name, 1, 20).Draw(t, "paths")
		executable := func(i int) bool { return i%3 == 0 }
		c, ok := CallerOf(rapid.SampledFrom([]string{".husky/x", "a/.husky/x", "a/b/.envrc"}).Draw(t, "caller"),
			[]byte(strings.Join(rapid.SliceOfN(name, 1, 8).Draw(t, "words"), " ")))
		if !ok {
			t.Fatal("it is no caller")
		}
		found := Called(paths, executable, slices.Values([]Caller{c}))
		for i, path := range paths {
			want := false
			for word := range c.words() {
				want = want || c.means(word, path, executable(i))
			}
			if _, got := found[i]; got != want {
				t.Errorf("%q named in %q of %q: %v, want %v", path, c.Text, c.Dir, got, want)
			}
		}
	})
}
