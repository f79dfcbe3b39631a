// Package sorting sorts slices of structs. slices.SortFunc compiles a separate sort of 30 KB
// for each type of struct, and copies both structs for each comparison. Here all types share
// one sort. Slices of pointers, strings or numbers share an instance of slices.SortFunc and
// are better sorted with that.
package sorting

import "sort"

// Func sorts s by compare, like slices.SortFunc. compare must not keep the pointers.
func Func[T any](s []T, compare func(a, b *T) int) {
	if len(s) > 1 {
		sort.Slice(s, func(i, j int) bool { return compare(&s[i], &s[j]) < 0 })
	}
}

// StableFunc sorts s by compare and keeps the order of equal elements, like
// slices.SortStableFunc. compare must not keep the pointers.
func StableFunc[T any](s []T, compare func(a, b *T) int) {
	if len(s) > 1 {
		sort.SliceStable(s, func(i, j int) bool { return compare(&s[i], &s[j]) < 0 })
	}
}
