package risk

import (
	"path"
	"sort"
	"strings"
)

// endings finds paths by their last parts, however many of them an agent gives the same
// name. They are in the order of their bytes from the last to the first, where a slash and
// the beginning of a path come before any other byte. So paths that end with the same parts
// follow each other.
type endings []ending

type ending struct {
	path  string // without its extension, too
	index int
}

// newEndings returns the endings of the paths that want has, each with its extension and
// without.
func newEndings(paths []string, want func(i int) bool) endings {
	var all endings
	for i, name := range paths {
		if !want(i) {
			continue
		}
		all = append(all, ending{name, i})
		if short := strings.TrimSuffix(name, path.Ext(name)); short != name && short != "" && !strings.HasSuffix(short, "/") {
			all = append(all, ending{short, i})
		}
	}
	all.sort()
	return all
}

func (e endings) sort() {
	sort.Slice(e, func(i, j int) bool { return compareEndings(e[i].path, e[j].path) < 0 })
}

// compareEndings compares two paths from their last byte on.
func compareEndings(a, b string) int {
	n := 1
	for n <= len(a) && n <= len(b) && a[len(a)-n] == b[len(b)-n] {
		n++
	}
	return endingRank(a, n) - endingRank(b, n)
}

// endingRank is the order of the byte at n from the end.
func endingRank(name string, n int) int {
	switch {
	case n > len(name):
		return 0
	case name[len(name)-n] == '/':
		return 1
	}
	return 2 + int(name[len(name)-n])
}

// with visits the paths that are, or end with, the parts of word.
func (e endings) with(word string, visit func(index int)) {
	from := sort.Search(len(e), func(i int) bool { return compareEndings(e[i].path, word) >= 0 })
	for _, one := range e[from:] {
		head, same := strings.CutSuffix(one.path, word)
		if !same || head != "" && !strings.HasSuffix(head, "/") {
			return
		}
		visit(one.index)
	}
}

// whole visits the paths that are word.
func (e endings) whole(word string, visit func(index int)) {
	from := sort.Search(len(e), func(i int) bool { return compareEndings(e[i].path, word) >= 0 })
	for _, one := range e[from:] {
		if one.path != word {
			return
		}
		visit(one.index)
	}
}
