package review

import (
	"cmp"
	"slices"
	"strings"

	"aibox/internal/git"
)

// Limits on the choice of folders.
const (
	maxFolds  = 500     // folded folders
	maxGroups = 4096    // folders considered
	maxLarge  = 4       // a folder is split when this many of its folders hold most of its files
	maxRounds = 8       // levels of folders that are split
	maxKeys   = 1 << 20 // bytes of folder names
)

// foldPlan decides which new folders are folded.
type foldPlan struct {
	most int // files to list

	split  map[string]bool // folders that are split into their subfolders
	whole  map[string]bool // folders that are not
	own    ListSize        // changes of existing files
	groups map[string]*group
	keys   int // bytes of the groups' names
}

// group is the set of new files below a new folder, or directly in an existing one.
type group struct {
	ListSize
	key  string // the folder; an existing one ends with a slash
	in   string // its parent folder
	fold string // the path of the folded change that represents it; empty if it is listed
}

// make chooses the folders. It splits a folder that is too large to list while a few of
// its subfolders hold most of its files, because the other files may need a review.
func (f *foldPlan) make(found *differences) error {
	for range maxRounds {
		if err := f.count(found); err != nil {
			return err
		}
		into := f.choose()
		if len(into) == 0 {
			return nil
		}
		total := map[string]int{}
		for _, key := range into {
			total[key] = f.groups[key].Files
			f.split[key] = true
		}
		if err := f.count(found); err != nil {
			return err
		}
		for key, files := range total {
			if f.largest(key) < files*4/5 {
				delete(f.split, key)
				f.whole[key] = true
			}
		}
	}
	if err := f.count(found); err != nil {
		return err
	}
	f.choose()
	return nil
}

// largest returns the number of files in the largest subfolders of a folder.
func (f *foldPlan) largest(in string) (files int) {
	var sizes []int
	for _, g := range f.groups {
		if g.in == in && !strings.HasSuffix(g.key, "/") {
			sizes = append(sizes, g.Files)
		}
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for _, n := range sizes[:min(len(sizes), maxLarge)] {
		files += n
	}
	return files
}

// count counts the files of each group.
func (f *foldPlan) count(found *differences) error {
	f.own, f.groups, f.keys = ListSize{}, map[string]*group{}, 0
	return found.visit(func(d difference) error {
		if d.op != 'A' {
			f.own.Add(d.entry.Path)
			return nil
		}
		f.group(d).Add(d.entry.Path)
		return nil
	})
}

// group returns the group of a new file. It makes one unless there are too many.
func (f *foldPlan) group(d difference) *group {
	key, in := f.keyOf(d)
	g := f.groups[key]
	if g != nil {
		return g
	}
	if key != "/" && (len(f.groups) >= maxGroups || f.keys+len(key) > maxKeys) {
		return f.group(difference{entry: git.Entry{Path: "x"}})
	}
	g = &group{key: strings.Clone(key)}
	g.in = g.key[:len(in)]
	f.groups[g.key] = g
	f.keys += len(key)
	return g
}

// keyOf returns the key of a new file's group, and the folder that holds it.
func (f *foldPlan) keyOf(d difference) (key, in string) {
	path := d.entry.Path
	in = path[:d.known]
	for {
		begin := 0
		if in != "" {
			begin = len(in) + 1
		}
		end := strings.IndexByte(path[begin:], '/')
		if end < 0 {
			return in + "/", in
		}
		dir := path[:begin+end]
		if !f.split[dir] {
			return dir, in
		}
		in = dir
	}
}

// choose lists the smallest groups up to the limit and folds the others. It returns the
// folders that may be worth splitting.
func (f *foldPlan) choose() (into []string) {
	all := make([]*group, 0, len(f.groups))
	for _, g := range f.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int { return cmp.Or(a.Files-b.Files, strings.Compare(a.key, b.key)) })
	sum, folds := f.own, []*group{}
	for _, g := range all {
		next := ListSize{sum.Files + g.Files, sum.weight + g.weight}
		if next.Within(f.most) {
			sum = next
			continue
		}
		g.fold = everythingElse
		if !strings.HasSuffix(g.key, "/") {
			folds = append(folds, g)
		}
	}
	for i, g := range slices.Backward(folds) {
		if len(folds)-i > maxFolds {
			break
		}
		g.fold = g.key + "/"
		if !f.whole[g.key] {
			into = append(into, g.key)
		}
	}
	return into
}
