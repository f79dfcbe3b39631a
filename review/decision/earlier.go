package decision

import (
	"slices"

	"aibox/review"
	"aibox/review/accept"
)

// maxSplit is the maximum number of lines of a hunk whose parts Delivered checks.
const maxSplit = 128

// earlierOf finds the parts of each file that earlier accepts took, by target. Parts of a
// version that has changed since do not count.
func earlierOf(files []*File, earlier map[accept.Target]*review.Selection) {
	byPath := make(map[review.Path]*File, len(files))
	for _, f := range files {
		byPath[f.Change.Path] = f
	}
	for target, selection := range earlier {
		if selection == nil {
			continue
		}
		for _, t := range selection.Taken {
			f := byPath[t.Path]
			if f == nil || t.Whole && !t.Fits(f.Change) {
				continue
			}
			if f.earlier == nil {
				f.earlier = map[accept.Target]review.Taken{}
			}
			f.earlier[target] = t
		}
	}
}

// Delivered reports whether an earlier accept delivered the whole file to the target.
func (f *File) Delivered(target accept.Target) bool { return f.earlier[target].Whole }

// PartlyDelivered reports whether an earlier accept delivered some hunks of the file.
func (f *File) PartlyDelivered(target accept.Target) bool {
	t := f.earlier[target]
	return len(t.Blocks)+len(t.Lines) > 0
}

// HunkDelivered reports whether an earlier accept delivered a hunk, or all of its parts.
// The parts of a very long hunk are not checked.
func (f *File) HunkDelivered(h *review.Hunk, target accept.Target) bool {
	t := f.earlier[target]
	if t.Whole || len(t.Blocks) == 0 {
		return t.Whole
	}
	if _, ok := slices.BinarySearch(t.Blocks, h.ID); ok || len(h.Lines) > maxSplit {
		return ok
	}
	return len(f.Remaining(*h, target)) == 0
}

// Remaining returns the parts of a hunk that no earlier accept delivered: the hunk itself
// if none was delivered.
func (f *File) Remaining(h review.Hunk, target accept.Target) []review.Hunk {
	t := f.earlier[target]
	if t.Whole {
		return nil
	}
	parts := h.Split()
	left := slices.DeleteFunc(slices.Clone(parts), func(part review.Hunk) bool {
		_, ok := slices.BinarySearch(t.Blocks, part.ID)
		return ok
	})
	if len(left) == len(parts) {
		return []review.Hunk{h}
	}
	return left
}
