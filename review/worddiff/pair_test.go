package worddiff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLinesArePairedWithTheirNewVersions(t *testing.T) {
	for _, c := range []struct {
		removed, added string
		want           []int
	}{
		{"a = 1", "// the first\na = 2", []int{1}},
		{"f(a)\ng(b)\nh(c)", "g(x)\nh(y)", []int{-1, 0, 1}},
		{"one two three\nfour", "nothing of it\nONE two three\nfour five", []int{1, 2}},
		{"if x {\n\ty()\n}", "\ty()", []int{-1, 0, -1}},
		{"one\ntwo", "three\nfour", []int{0, 1}}, // as many: in order
		{"one", "two\nthree", []int{-1}},
	} {
		lines := func(text string) (all [][]byte) {
			for line := range strings.SplitSeq(text, "\n") {
				all = append(all, []byte(line))
			}
			return all
		}
		if got := Pair(lines(c.removed), lines(c.added)); !slices.Equal(got, c.want) {
			t.Errorf("%q to %q: %v, not %v", c.removed, c.added, got, c.want)
		}
	}
	if got := Pair(make([][]byte, 400), make([][]byte, 2)); got != nil {
		t.Errorf("too many lines are compared: %v", got)
	}
}

func TestPairsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []byte {
			return []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "("}), 0, 4).Draw(t, "words"), " "))
		}), 0, 8)
		removed, added := lines.Draw(t, "removed"), lines.Draw(t, "added")
		last := -1
		for _, j := range Pair(removed, added) {
			if j == -1 {
				continue
			}
			if j <= last || j >= len(added) {
				t.Fatalf("%q to %q", removed, added)
			}
			last = j
		}
	})
}
