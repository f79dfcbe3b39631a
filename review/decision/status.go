package decision

import (
	"aibox/review"
	"aibox/review/accept"
)

// Status summarizes a file: the decision about it, else the earlier delivery.
type Status int

// The states of a file.
const (
	StatusUndecided Status = iota
	StatusAccepted
	StatusRejected
	StatusSkipped
	StatusMixed           // its hunks differ
	StatusDelivered       // an earlier accept took all of it
	StatusPartlyDelivered // an earlier accept took some hunks of it
	NumStatuses
)

// Status returns the status of the file for a target.
func (f *File) Status(target accept.Target) Status {
	switch d, mixed := f.Sum(); {
	case mixed, d == Partial:
		return StatusMixed
	case d == Accepted:
		return StatusAccepted
	case d == Rejected:
		return StatusRejected
	case d == Skipped:
		return StatusSkipped
	case f.Delivered(target):
		return StatusDelivered
	case f.PartlyDelivered(target):
		return StatusPartlyDelivered
	default:
		return StatusUndecided
	}
}

// Tally counts the effects of accepting. Every file counts once, except in Risky.
type Tally struct {
	Files                              int
	Accepted, Mixed, Rejected, Skipped int
	Delivered                          int // undecided, and delivered before
	Undecided                          int // all others
	Risky                              int // undecided, with risks
	Lines                              Size
}

// AcceptsAny reports whether there is anything to accept.
func (t Tally) AcceptsAny() bool { return t.Accepted+t.Mixed > 0 }

func (d *Draft) count() Tally {
	t := Tally{Files: len(d.files)}
	for _, f := range d.files {
		t.Lines = t.Lines.plus(f.accepts())
		switch f.Status(d.target) {
		case StatusMixed:
			t.Mixed++
		case StatusAccepted:
			t.Accepted++
		case StatusRejected:
			t.Rejected++
		case StatusSkipped:
			t.Skipped++
		case StatusDelivered:
			t.Delivered++
		default:
			t.Undecided++
			if f.Risky() {
				t.Risky++
			}
		}
	}
	return t
}

// Remaining returns the files with something undecided that no earlier accept delivered:
// those without risks, and those with.
func (d *Draft) Remaining() (undecided, risky []review.Path) {
	for _, f := range d.files {
		_, mixed := f.Sum()
		switch {
		case !f.HasUndecided() || !mixed && f.Delivered(d.target):
		case f.Risky():
			risky = append(risky, f.Change.Path)
		default:
			undecided = append(undecided, f.Change.Path)
		}
	}
	return undecided, risky
}
