package changes

import (
	"slices"

	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
)

// accepted is what earlier accepts took of a file as it is now, by where it went.
type accepted map[accept.Target]review.Taken

// acceptedBefore finds what was taken of a change.
func acceptedBefore(d *session.Decisions) func(*review.Change) accepted {
	byPath := map[review.Path]accepted{}
	for target, before := range map[accept.Target]*accept.Prior{accept.ToBranch: d.Branch, accept.ToWorktree: d.Worktree} {
		if before == nil || before.Selection == nil {
			continue
		}
		for _, t := range before.Selection.Taken {
			if byPath[t.Path] == nil {
				byPath[t.Path] = accepted{}
			}
			byPath[t.Path][target] = t
		}
	}
	return func(c *review.Change) accepted {
		all := byPath[c.Path]
		for target, t := range all {
			if t.Whole && !t.Fits(c) {
				delete(all, target) // it was changed since
			}
		}
		return all
	}
}

// isDone reports whether all of the file is where it would go.
func (f *file) isDone(target accept.Target) bool { return f.accepted[target].Whole }

// hunkDone reports whether a hunk is where it would go: itself, or all of its parts.
// Of a very long one nobody looks at the parts.
func (f *file) hunkDone(h *review.Hunk, target accept.Target) bool {
	t := f.accepted[target]
	if t.Whole || len(t.Blocks) == 0 {
		return t.Whole
	}
	has := func(id review.HunkID) bool {
		_, ok := slices.BinarySearch(t.Blocks, id)
		return ok
	}
	if has(h.ID) || len(h.Lines) > block {
		return has(h.ID)
	}
	return !slices.ContainsFunc(h.Split(), func(part review.Hunk) bool { return !has(part.ID) })
}
