package review

import (
	"slices"
	"strings"

	"aibox/internal/slashpath"
	"aibox/internal/sorting"
)

// To the user, a removed path and the path that replaces it are one change, even if git
// lists two: a folder replaced by a symlink is a list of deletions and a new file. When
// risks leave out the new path, the removed one stays as well, and vice versa. Otherwise a
// plain accept would delete files and deliver nothing instead.

// exclusion finds the chosen changes that belong together. Each method takes time in
// proportion to the depth of a path, so all of it is linear in the number of changes.
type exclusion struct {
	cs     *ChangeSet
	chosen []bool         // by change: it is still selected
	exempt []bool         // by change: it is never left out
	goes   places         // the paths that chosen changes remove
	comes  places         // the paths that chosen changes write
	below  map[string]int // by folder: the number of paths written in it
	open   []int          // left out changes whose related changes are still to be found
	with   map[int]Path   // the change that each one was left out with
}

func newExclusion(cs *ChangeSet, chosen, exempt []bool) *exclusion {
	r := &exclusion{cs: cs, chosen: chosen, exempt: exempt, below: map[string]int{}, with: map[int]Path{}}
	for i := range cs.Changes {
		if !chosen[i] {
			continue
		}
		if path := cs.Changes[i].removes(); path != "" {
			r.goes.add(path, i)
		}
		if path := cs.Changes[i].writes(); path != "" {
			r.comes.add(path, i)
		}
	}
	r.goes.sort()
	r.comes.sort()
	for _, place := range r.comes.all {
		for dir := slashpath.Parent(place.path); dir != ""; dir = slashpath.Parent(dir) {
			r.below[dir]++
		}
	}
	return r
}

// removes returns the path that the change removes, or "".
func (c *Change) removes() string {
	switch c.Kind {
	case Deleted:
		return c.Path.Raw()
	case Renamed:
		return c.OldPath.Raw()
	}
	return ""
}

// writes returns the path of the file or symlink that the change writes, or "".
func (c *Change) writes() string {
	if c.Kind == Deleted {
		return ""
	}
	return c.Path.Raw()
}

// exclude leaves change i out, together with the change at path.
func (r *exclusion) exclude(i int, path Path) {
	if !r.chosen[i] || r.exempt[i] {
		return
	}
	r.chosen[i] = false
	r.with[i] = path
	r.open = append(r.open, i)
}

// excludeRefused leaves out removals of files that refused ones replace.
func (r *exclusion) excludeRefused(refusals []Refusal) {
	for _, refusal := range refusals {
		if !refusal.Inside {
			r.excludeRemovalsFor(refusal.Path.Raw(), refusal.Path)
		}
	}
}

// excludeRelated leaves out all changes that belong to left out ones.
func (r *exclusion) excludeRelated() {
	for len(r.open) > 0 {
		i := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		c := &r.cs.Changes[i]
		if path := c.writes(); path != "" {
			for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
				r.below[dir]--
			}
			r.excludeRemovalsFor(path, c.Path)
		}
		if path := c.removes(); path != "" {
			r.excludeReplacementsOf(path, c.Path)
		}
	}
}

// excludeRemovalsFor leaves out the removals that belong to path, which will not be
// written: the file of that name, the files of a folder of that name, and a file that only
// path would replace.
func (r *exclusion) excludeRemovalsFor(path string, with Path) {
	for _, place := range r.goes.under(path) {
		r.exclude(place.change, with)
	}
	for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
		if r.below[dir] > 0 {
			continue
		}
		for _, place := range r.goes.at(dir) {
			r.exclude(place.change, with)
		}
	}
}

// excludeReplacementsOf leaves out the changes that write path, files in a folder of that
// name, or a file in place of one of path's folders.
func (r *exclusion) excludeReplacementsOf(path string, with Path) {
	for _, place := range r.comes.under(path) {
		r.exclude(place.change, with)
	}
	for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
		for _, place := range r.comes.at(dir) {
			r.exclude(place.change, with)
		}
	}
}

// places are paths of changes.
type places struct{ all []place }

type place struct {
	path   string
	change int // its index
}

func (p *places) add(path string, change int) { p.all = append(p.all, place{path, change}) }

// sort puts a folder's files right after the folder's own name.
func (p *places) sort() {
	sorting.Func(p.all, func(a, b *place) int { return comparePaths(a.path, b.path) })
}

// comparePaths compares paths; a slash sorts before any other byte.
func comparePaths(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	switch {
	case n == len(a) || n == len(b):
		return len(a) - len(b)
	case a[n] == '/':
		return -1
	case b[n] == '/':
		return 1
	}
	return int(a[n]) - int(b[n])
}

// at returns the places with exactly this path.
func (p *places) at(path string) []place {
	from, _ := slices.BinarySearchFunc(p.all, path, func(e place, path string) int { return comparePaths(e.path, path) })
	to := from
	for to < len(p.all) && p.all[to].path == path {
		to++
	}
	return p.all[from:to]
}

// under returns the places with this path and those in a folder of that name.
func (p *places) under(path string) []place {
	from, _ := slices.BinarySearchFunc(p.all, path, func(e place, path string) int { return comparePaths(e.path, path) })
	to := from
	for to < len(p.all) && (p.all[to].path == path || strings.HasPrefix(p.all[to].path, path+"/")) {
		to++
	}
	return p.all[from:to]
}
