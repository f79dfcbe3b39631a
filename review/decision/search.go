package decision

import (
	"iter"

	"aibox/review"
)

// Hit is a line of a hunk that matches.
type Hit struct {
	Hunk int  // its index among the hunks
	Line int  // in the agent's version of the file, or in the baseline's when Old is set
	Old  bool // the line was deleted
}

// Search returns the lines of hunks that match, in order. match must not keep the line.
func Search(hunks []review.Hunk, match func(line []byte) bool) iter.Seq[Hit] {
	return func(yield func(Hit) bool) {
		for i := range hunks {
			old, fresh := hunks[i].OldStart, hunks[i].NewStart
			for _, line := range hunks[i].Lines {
				hit := Hit{Hunk: i, Line: fresh}
				if line.Op == '-' {
					hit = Hit{Hunk: i, Line: old, Old: true}
				}
				if match(line.Text) && !yield(hit) {
					return
				}
				if line.Op != '+' {
					old++
				}
				if line.Op != '-' {
					fresh++
				}
			}
		}
	}
}

// NextMatch returns the first hunk after index at, around the end, with a line that
// matches, or -1.
func (f *File) NextMatch(at int, match func(line []byte) bool) int {
	first := -1
	for hit := range Search(f.hunks, match) {
		if hit.Hunk > at {
			return hit.Hunk
		}
		if first < 0 {
			first = hit.Hunk
		}
	}
	return first
}
