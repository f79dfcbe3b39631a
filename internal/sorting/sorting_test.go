package sorting

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ key, place int }

func byKey(a, b item) int { return cmp.Compare(a.key, b.key) }

func byKeyOf(a, b *item) int { return byKey(*a, *b) }

func TestItSortsAsThePackageSlicesDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []item
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			items = append(items, item{key, i})
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, byKey)
		stable := slices.Clone(items)
		StableFunc(stable, byKeyOf)
		if !slices.Equal(stable, want) {
			t.Fatalf("stably sorted: %v, want %v", stable, want)
		}
		Func(items, byKeyOf)
		if !slices.IsSortedFunc(items, byKey) {
			t.Fatalf("not sorted: %v", items)
		}
		slices.SortFunc(items, func(a, b item) int { return cmp.Or(byKey(a, b), a.place-b.place) })
		if !slices.Equal(items, want) {
			t.Fatalf("other elements: %v, want %v", items, want)
		}
	})
}
