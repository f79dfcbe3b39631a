package decision

import (
	"slices"

	"aibox/review"
)

// Decide sets the decision about a hunk of file i. If that accepts a part of a file that
// NeedsConsent, and the user does not consent to the risks, it returns ErrRisks and changes
// nothing.
func (d *Draft) Decide(i int, id review.HunkID, to Decision, consent bool) error {
	f := d.files[i]
	hunk := f.Index(id)
	if hunk < 0 {
		return nil
	}
	if to == Accepted && f.NeedsConsent() && !consent {
		return ErrRisks
	}
	d.record(hunkState(i, f, hunk))
	d.agree(f, to)
	f.decide(hunk, to)
	f.annotate(id, "")
	return nil
}

// Reject rejects a hunk of file i, with a note that gives the reason.
func (d *Draft) Reject(i int, id review.HunkID, note string) {
	f := d.files[i]
	if hunk := f.Index(id); hunk >= 0 {
		d.record(hunkState(i, f, hunk))
		f.decide(hunk, Rejected)
		f.annotate(id, note)
	}
}

// DecideFile sets the decision about every hunk of file i. It returns ErrRisks as
// Decide does.
func (d *Draft) DecideFile(i int, to Decision, consent bool) error {
	f := d.files[i]
	if to == Accepted && f.NeedsConsent() && !consent {
		return ErrRisks
	}
	d.record(fileState(i, f))
	d.agree(f, to)
	f.decideAll(to)
	return nil
}

// DecideFrom sets the decision about hunk from of file i and about every undecided
// hunk after it. It returns ErrRisks as Decide does.
func (d *Draft) DecideFrom(i, from int, to Decision, consent bool) error {
	f := d.files[i]
	if to == Accepted && f.NeedsConsent() && !consent {
		return ErrRisks
	}
	d.record(fileState(i, f).cloned())
	d.agree(f, to)
	for j := from; j < len(f.hunks); j++ {
		if j == from || f.Of(f.hunks[j].ID) == Undecided {
			f.decide(j, to)
		}
	}
	return nil
}

// DecideRest sets the decision about the files [from, to) that are undecided as a whole and were
// not delivered before. It accepts no file with risks: each needs its own decision. It returns how
// many files were decided and how many were left because of risks.
func (d *Draft) DecideRest(from, to int, decision Decision) (decided, risky int) {
	var files []int
	for i := from; i < to; i++ {
		f := d.files[i]
		switch was, mixed := f.Sum(); {
		case mixed || was != Undecided || f.Delivered(d.target):
		case f.Risky() && decision == Accepted:
			risky++
		default:
			files = append(files, i)
		}
	}
	d.decideAll(files, decision, false)
	return len(files), risky
}

// Reset makes every file undecided, and returns how many were decided.
func (d *Draft) Reset() int {
	var files []int
	for i, f := range d.files {
		if was, mixed := f.Sum(); mixed || was != Undecided {
			files = append(files, i)
		}
	}
	d.decideAll(files, Undecided, true)
	return len(files)
}

// Exclude makes the files with these paths undecided, such as those that conflict with
// the user's, and returns how many there are.
func (d *Draft) Exclude(paths ...review.Path) int {
	var files []int
	for _, path := range paths {
		if i := d.Find(path); i >= 0 && !slices.Contains(files, i) {
			files = append(files, i)
		}
	}
	d.decideAll(files, Undecided, false)
	return len(files)
}

// decideAll decides about whole files in one step.
func (d *Draft) decideAll(files []int, to Decision, withdrawConsent bool) {
	if len(files) == 0 {
		return
	}
	var s step
	for _, i := range files {
		s = append(s, fileState(i, d.files[i]))
	}
	d.record(s...)
	for _, i := range files {
		d.files[i].decideAll(to)
		if withdrawConsent {
			d.files[i].risksAgreed = false
		}
	}
}

// Split replaces a hunk of file i by its parts, which keep its decision. It returns the
// number of parts. A hunk that cannot be split stays, and the result is 1.
func (d *Draft) Split(i, hunk int) int {
	f := d.files[i]
	whole, state := f.hunks[hunk], fileState(i, f).cloned()
	parts := f.splitHunk(hunk)
	if parts > 1 {
		state.split, state.parts = &whole, parts
		state.at = hunk
		d.record(state)
	}
	return parts
}

// agree records that the user consents to the risks of a file by accepting it.
func (*Draft) agree(f *File, to Decision) {
	f.risksAgreed = f.risksAgreed || to == Accepted && f.Risky()
}
