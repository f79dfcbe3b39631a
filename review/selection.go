package review

import (
	"cmp"
	"slices"

	"aibox/internal/sorting"
	"aibox/review/risk"
)

// Selection is the selected part of a change set. It is plain data and may be stored as
// JSON. The zero value is empty.
type Selection struct {
	Taken []Taken   `json:"taken"`          // by path
	Left  []LeftOut `json:"left,omitempty"` // files that were chosen but left out, by path
}

// Taken is the selected part of one change: all of it, or some of its blocks.
type Taken struct {
	Path    Path         `json:"path"`
	OldPath Path         `json:"old_path,omitempty"`
	Blob    string       `json:"blob,omitempty"`    // blob of the agent's file at the time of the choice; empty if deleted
	Mode    string       `json:"mode,omitempty"`    // mode of that file; empty if deleted
	Whole   bool         `json:"whole,omitempty"`   // the whole change; then there are no blocks
	Blocks  []HunkID     `json:"blocks,omitempty"`  // ids of hunks that cannot be split, sorted
	Lines   []BlockLines `json:"lines,omitempty"`   // of other such hunks, by id
	Of      int          `json:"of,omitempty"`      // how many there are
	Earlier bool         `json:"earlier,omitempty"` // more was taken of an earlier version of the file
	Files   int          `json:"files,omitempty"`   // for a folder that is taken as a whole: its number of files
}

// count returns the number of files in t.
func (t *Taken) count() int { return max(1, t.Files) }

// LeftOut is a file that was chosen but left out because of its risks, or because it
// belongs to a file that was left out.
type LeftOut struct {
	Path  Path        `json:"path"`
	Risks []risk.Risk `json:"risks"`
	With  Path        `json:"with,omitempty"`  // the file that it belongs to; empty when it has risks itself
	Hunks []string    `json:"hunks,omitempty"` // what was chosen of it, as in a Choice, if only this part has the risks
}

// Empty reports whether nothing is selected.
func (s *Selection) Empty() bool { return s == nil || len(s.Taken) == 0 }

// Complete reports whether s holds every change of cs in its current state.
func (s *Selection) Complete(cs *ChangeSet) bool {
	for i := range cs.Changes {
		if t := s.At(cs.Changes[i].Path); t == nil || !t.Whole || !t.Fits(&cs.Changes[i]) {
			return false
		}
	}
	return true
}

// At returns the selected part of the change at path, or nil.
func (s *Selection) At(path Path) *Taken {
	if s == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(s.Taken, path, func(t Taken, path Path) int { return cmp.Compare(t.Path, path) })
	if !ok {
		return nil
	}
	return &s.Taken[i]
}

// Fits reports whether t was selected from the current content of c.
func (t *Taken) Fits(c *Change) bool {
	return t.OldPath == c.OldPath && t.Blob == c.fingerprint() && t.Mode == c.NewMode
}

// Union returns the union of s and other. For a path that changed between the two, other
// wins. Left is other's.
func (s *Selection) Union(other *Selection) *Selection {
	sum := &Selection{}
	if other != nil {
		sum.Left = slices.Clone(other.Left)
		for _, t := range other.Taken {
			if before := s.At(t.Path); before != nil {
				t = t.union(*before)
			}
			sum.Taken = append(sum.Taken, t)
		}
	}
	if s != nil {
		for _, t := range s.Taken {
			if other.At(t.Path) == nil {
				sum.Taken = append(sum.Taken, t)
			}
		}
	}
	sum.sort()
	return sum
}

// sort orders the taken changes by path.
func (s *Selection) sort() {
	sorting.Func(s.Taken, func(a, b *Taken) int { return cmp.Compare(a.Path, b.Path) })
}

// CountBeyond returns the number of files of which s has more than other.
func (s *Selection) CountBeyond(other *Selection) int {
	files := 0
	for _, t := range s.Taken {
		was := other.At(t.Path)
		switch {
		case was == nil, was.Blob != t.Blob, was.Mode != t.Mode, was.OldPath != t.OldPath:
			files += t.count()
		case was.Whole:
		case t.Whole,
			slices.ContainsFunc(t.Blocks, func(id HunkID) bool { return !slices.Contains(was.Blocks, id) }),
			slices.ContainsFunc(t.Lines, func(b BlockLines) bool { return !was.hasLines(b) }):
			files += t.count()
		}
	}
	return files
}

// union adds the parts of the same change that were taken before.
func (t Taken) union(before Taken) Taken {
	same := t.OldPath == before.OldPath && t.Blob == before.Blob && t.Mode == before.Mode
	switch {
	case t.Whole:
		return t
	case same && before.Whole:
		return before
	}
	t.Earlier = t.Earlier || before.Earlier || before.Whole
	t.Blocks = append(slices.Clone(t.Blocks), before.Blocks...)
	slices.Sort(t.Blocks)
	t.Blocks = slices.Compact(t.Blocks)
	t.addLines(before.Lines)
	if t.Of > 0 && len(t.Blocks) == t.Of && same {
		t.Blocks, t.Lines, t.Of, t.Whole, t.Earlier = nil, nil, 0, true, false
	}
	return t
}
