package review

import (
	"slices"
	"strings"

	"aibox/internal/slashpath"
)

// A path that goes and the path that comes in its place are one change to the user, even
// where git lists two: a folder that became a symlink is a list of deletions and a new
// file. When risks leave out what comes, what goes for it stays as well, and the other
// way round. Otherwise a plain accept would delete files and deliver nothing instead.

// exclusion tells which of the chosen changes belong together. Every method costs the
// depth of a path, so that all of it is linear in the number of changes.
type exclusion struct {
	cs     *ChangeSet
	chosen []bool         // by change: it is taken so far
	exempt []bool         // likewise: it is never held back
	goes   places         // of chosen changes, the paths that they remove
	comes  places         // likewise, the paths that they write
	below  map[string]int // by folder: how many paths come in it
	open   []int          // changes that are held back, and their partners are not known yet
	with   map[int]Path   // what each change is held back with
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

// removes is the path that is not there any more after the change, or empty.
func (c *Change) removes() string {
	switch c.Kind {
	case Deleted:
		return c.Path.Raw()
	case Renamed:
		return c.OldPath.Raw()
	}
	return ""
}

// writes is the path that the change puts a file or symlink at, or empty.
func (c *Change) writes() string {
	if c.Kind == Deleted {
		return ""
	}
	return c.Path.Raw()
}

// exclude holds change i back, with what path is about.
func (r *exclusion) exclude(i int, path Path) {
	if !r.chosen[i] || r.exempt[i] {
		return
	}
	r.chosen[i] = false
	r.with[i] = path
	r.open = append(r.open, i)
}

// excludeRefused holds back what went for something that aibox never takes.
func (r *exclusion) excludeRefused(refusals []Refusal) {
	for _, refusal := range refusals {
		if !refusal.Inside {
			r.excludeRemovalsFor(refusal.Path.Raw(), refusal.Path)
		}
	}
}

// excludeRelated holds back everything that belongs to what is held back.
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

// excludeRemovalsFor holds back what went for path, at which nothing comes: the file of that name,
// the files of a folder of that name, and a file in the place of which nothing but path
// was to come.
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

// excludeReplacementsOf holds back what was to come at path, in a folder of that name, or as a file in
// the place of a folder of path.
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

// sort puts a folder's files right behind the folder's own name.
func (p *places) sort() {
	slices.SortFunc(p.all, func(a, b place) int { return comparePaths(a.path, b.path) })
}

// comparePaths is the order in which slashes come before every other byte.
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

// at are the places with this very path.
func (p *places) at(path string) []place {
	from, _ := slices.BinarySearchFunc(p.all, path, func(e place, path string) int { return comparePaths(e.path, path) })
	to := from
	for to < len(p.all) && p.all[to].path == path {
		to++
	}
	return p.all[from:to]
}

// under are the places with this path, and those in a folder of that name.
func (p *places) under(path string) []place {
	from, _ := slices.BinarySearchFunc(p.all, path, func(e place, path string) int { return comparePaths(e.path, path) })
	to := from
	for to < len(p.all) && (p.all[to].path == path || strings.HasPrefix(p.all[to].path, path+"/")) {
		to++
	}
	return p.all[from:to]
}
