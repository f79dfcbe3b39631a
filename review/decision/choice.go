package decision

import (
	"aibox/review"
)

// Choice returns the choice for an accept that follows from the decisions. A file that is
// accepted as a whole is named by its exact path, every other hunk by its id. A hunk that
// was rejected earlier is always named by its id: an accept leaves it out otherwise.
func (d *Draft) Choice() review.Choice {
	var c review.Choice
	for _, f := range d.files {
		before := len(c.Files) + len(c.Hunks)
		switch whole, mixed := f.Sum(); {
		case mixed, whole == Partial, whole == Accepted && len(f.hunks) > 0 && (d.options.HunksOnly || len(d.unrejected(f)) > 0 || d.splitRejected(f)):
			for _, id := range f.with(Accepted) {
				c.Hunks = append(c.Hunks, string(id))
			}
			for _, id := range f.with(Partial) {
				c.Hunks = append(c.Hunks, review.LineChoices(id, f.lines[id].numbers)...)
			}
		case whole == Accepted:
			c.Files = append(c.Files, f.Change.Path.String())
		}
		if f.risksAgreed && len(c.Files)+len(c.Hunks) > before {
			c.Risky = append(c.Risky, f.Change.Path.String())
		}
	}
	return c
}

// AcceptedHunks counts the accepted hunks, of files that were loaded, and their files.
func (d *Draft) AcceptedHunks() (hunks, files int) {
	for _, f := range d.files {
		if n := len(f.with(Accepted)) + len(f.with(Partial)); n > 0 {
			hunks, files = hunks+n, files+1
		}
	}
	return hunks, files
}

// Rejection is a rejected hunk with the note that gives the reason, if any.
type Rejection struct {
	Hunk review.HunkID
	Note string
}

// Rejections returns the rejected hunks of files that were loaded.
func (d *Draft) Rejections() []Rejection {
	var all []Rejection
	for _, f := range d.files {
		for _, id := range f.with(Rejected) {
			all = append(all, Rejection{id, f.notes[id]})
		}
	}
	return all
}

// RejectedUnread returns the files that were rejected as a whole and never loaded.
func (d *Draft) RejectedUnread() []review.Path {
	var paths []review.Path
	for _, f := range d.files {
		if whole, _ := f.Sum(); whole == Rejected && len(f.hunks) == 0 {
			paths = append(paths, f.Change.Path)
		}
	}
	return paths
}

// Unrejected returns the accepted hunks that the user rejected earlier.
func (d *Draft) Unrejected() []review.HunkID {
	var ids []review.HunkID
	for _, f := range d.files {
		ids = append(ids, d.unrejected(f)...)
	}
	return ids
}

func (d *Draft) unrejected(f *File) []review.HunkID {
	var ids []review.HunkID
	for _, id := range append(f.with(Accepted), f.with(Partial)...) {
		if d.wasRejected(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// splitRejected reports whether the user rejected a hunk earlier that is split now.
func (d *Draft) splitRejected(f *File) bool {
	for id := range f.split {
		if d.wasRejected(id) {
			return true
		}
	}
	return false
}

func (d *Draft) wasRejected(id review.HunkID) bool { return d.options.Rejected(id) || d.stored[id] }
