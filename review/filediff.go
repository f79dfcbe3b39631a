package review

import (
	"context"
	"iter"
	"slices"

	"aibox/internal/fault"
)

// FileDiff is one changed file with its hunks, always at least one.
type FileDiff struct {
	Change *Change
	Hunks  []Hunk
}

// Pieces returns everything in the file that a hunk ID can name: each hunk, preceded by
// its parts when it has several.
func (f FileDiff) Pieces() iter.Seq[Hunk] {
	return func(yield func(Hunk) bool) {
		for _, h := range f.Hunks {
			if parts := h.Split(); len(parts) > 1 {
				for _, part := range parts {
					if !yield(part) {
						return
					}
				}
			}
			if !yield(h) {
				return
			}
		}
	}
}

// Changed returns those of paths that were changed, sorted and without duplicates.
func (cs *ChangeSet) Changed(paths []Path) []Path {
	wanted := make(map[Path]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	var changed []Path
	for _, c := range cs.Changes {
		if wanted[c.Path] {
			changed = append(changed, c.Path)
		}
	}
	slices.Sort(changed)
	return changed
}

// Files calls visit with each changed file and its hunks, in the order of Changes. With
// paths, which must be paths of changes, it visits only those. Memory is bounded by the
// largest file, so visit must not keep its lines. An error of visit ends the iteration
// and is returned unchanged.
func (cs *ChangeSet) Files(ctx context.Context, visit func(FileDiff) error, paths ...Path) error {
	if len(cs.Changes) == 0 {
		return nil
	}
	var wanted []int
	var err error
	if len(paths) > 0 {
		if wanted, err = cs.indexes(paths); err != nil {
			return err
		}
	} else {
		wanted = make([]int, len(cs.Changes))
		for i := range wanted {
			wanted[i] = i
		}
	}
	files := slices.IndexFunc(wanted, func(i int) bool { return cs.Changes[i].Kind == Folded }) // folders come last
	if files < 0 {
		files = len(wanted)
	}
	reader := diffReader{cs, visit}
	if err := reader.read(ctx, wanted[:files], len(paths) == 0); err != nil {
		return err
	}
	for _, i := range wanted[files:] {
		c := &cs.Changes[i]
		if err := visit(FileDiff{Change: c, Hunks: []Hunk{whole(c, HunkFolder, nil)}}); err != nil {
			return err
		}
	}
	return nil
}

// indexes returns the indexes of the changes of paths, in order and without duplicates.
func (cs *ChangeSet) indexes(paths []Path) ([]int, error) {
	byPath := make(map[Path]int, len(cs.Changes))
	for i := range cs.Changes {
		byPath[cs.Changes[i].Path] = i
	}
	found := make([]int, 0, len(paths))
	for _, path := range paths {
		i, ok := byPath[path]
		if !ok {
			return nil, fault.New(fault.Usage, "nothing was changed at %s", path).Hint("`aibox diff --stat %s` lists the changed files", cs.Session)
		}
		found = append(found, i)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
