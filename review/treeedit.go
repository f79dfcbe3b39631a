package review

import (
	"context"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
)

// treeEdit is the edit that a selection makes to the baseline's tree.
type treeEdit struct {
	set    *ChangeSet
	remove []string
	put    []git.Entry
	text   []patched
	folds  map[Path]bool // folded folders that are selected
}

// patched is a file to which some text hunks are applied.
type patched struct {
	put    int    // index of its entry, which has no id yet
	blob   string // in the baseline
	blocks []block
}

// newTreeEdit returns the edit of a selection from cs.
func newTreeEdit(ctx context.Context, cs *ChangeSet, s *Selection) (*treeEdit, error) {
	e := &treeEdit{set: cs}
	partly := map[Path]*Taken{}
	var paths []Path
	selected := 0
	for i := range cs.Changes {
		c := &cs.Changes[i]
		t := s.At(c.Path)
		if t == nil {
			continue
		}
		selected++
		switch {
		case !t.Whole:
			partly[c.Path] = t
			paths = append(paths, c.Path)
		case !t.Fits(c):
			return nil, staleSelection(c.Path)
		default:
			e.whole(c)
		}
	}
	if selected < len(s.Taken) {
		names := cs.Names()
		for _, t := range s.Taken {
			if names.At(t.Path) == nil {
				return nil, staleSelection(t.Path)
			}
		}
	}
	if len(paths) == 0 {
		return e, nil
	}
	return e, cs.Files(ctx, func(f FileDiff) error { return e.part(f, partly[f.Change.Path]) }, paths...)
}

// staleSelection is the error of a selection that was made from another change set.
func staleSelection(path Path) error {
	return fault.New(fault.Conflict, "%s changed after it was selected", path).
		Hint("look at the diff again, and select again")
}

// whole adds a whole change.
func (e *treeEdit) whole(c *Change) {
	switch c.Kind {
	case Folded:
		if e.folds == nil {
			e.folds = map[Path]bool{}
		}
		e.folds[c.Path] = true
		return
	case Deleted:
		e.remove = append(e.remove, c.Path.Raw())
		return
	case Renamed:
		e.remove = append(e.remove, c.OldPath.Raw())
	}
	e.put = append(e.put, git.Entry{Mode: git.Mode(c.NewMode), ID: c.NewBlob, Path: c.Path.Raw()})
}

// part adds some blocks of a change.
func (e *treeEdit) part(f FileDiff, t *Taken) error {
	c := f.Change
	wanted := make(map[HunkID]bool, len(t.Blocks))
	for _, id := range t.Blocks {
		wanted[id] = true
	}
	lines := make(map[HunkID][]int, len(t.Lines))
	for _, b := range t.Lines {
		lines[b.Block] = b.Lines
	}
	entry := git.Entry{Mode: git.Mode(c.OldMode), ID: c.OldBlob, Path: c.Path.Raw()}
	if c.Kind == Renamed {
		entry.Path = c.OldPath.Raw()
	}
	var text []block
	for _, h := range f.Hunks {
		for _, part := range h.Split() {
			if numbers := lines[part.ID]; numbers != nil && part.Kind == HunkText {
				delete(lines, part.ID)
				for _, b := range part.blocks() { // a partial change has one
					text = append(text, b.only(numbers))
				}
				continue
			}
			if !wanted[part.ID] {
				continue
			}
			delete(wanted, part.ID)
			switch part.Kind {
			case HunkText:
				text = append(text, part.blocks()...)
			case HunkMode:
				entry.Mode = git.Mode(c.NewMode)
			case HunkContent:
				entry.ID = c.NewBlob
			case HunkRenamed:
				e.remove = append(e.remove, c.OldPath.Raw())
				entry.Path = c.Path.Raw()
			default:
				e.whole(c)
				return nil
			}
		}
	}
	if len(wanted)+len(lines) > 0 {
		return staleSelection(c.Path)
	}
	e.put = append(e.put, entry)
	if len(text) > 0 {
		e.text = append(e.text, patched{put: len(e.put) - 1, blob: c.OldBlob, blocks: text})
	}
	return nil
}

// checkPaths refuses an edit in which a path would be both a file and a folder. The
// baseline and the agent's tree are both valid, so a conflict is always between a path
// that the edit adds and one that it fails to remove.
func (e *treeEdit) checkPaths() error {
	removed := make(map[string]bool, len(e.remove))
	for _, path := range e.remove {
		removed[path] = true
	}
	kept := map[string]bool{} // old paths that the agent removed and the edit keeps
	for i := range e.set.Changes {
		switch c := &e.set.Changes[i]; {
		case c.Kind == Deleted && !removed[c.Path.Raw()]:
			kept[c.Path.Raw()] = true
		case c.Kind == Renamed && !removed[c.OldPath.Raw()]:
			kept[c.OldPath.Raw()] = true
		}
	}
	added := make(map[string]bool, len(e.put))
	for _, entry := range e.put {
		added[entry.Path] = true
	}
	for _, entry := range e.put {
		for dir := slashpath.Parent(entry.Path); dir != ""; dir = slashpath.Parent(dir) {
			if kept[dir] || added[dir] {
				return e.pathConflict(entry.Path, dir)
			}
		}
	}
	for path := range kept {
		for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
			if added[dir] {
				return e.pathConflict(dir, path)
			}
		}
	}
	return nil
}

// pathConflict is the error of an edit that adds a path and keeps another in its place.
func (e *treeEdit) pathConflict(added, kept string) error {
	removal := "the deletion of " + Path(kept).String()
	for _, c := range e.set.Changes {
		if c.Kind == Renamed && c.OldPath.Raw() == kept {
			removal = "the move of " + Path(kept).String() + " to " + c.Path.String()
		}
	}
	return fault.New(fault.Conflict, "%s can be taken only together with %s: one path cannot be a file and a folder at once", Path(added), removal).
		Hint("choose both, or neither")
}
