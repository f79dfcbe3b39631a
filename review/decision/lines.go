package decision

import (
	"slices"

	"aibox/review"
)

// lineChoice holds the accepted lines of a hunk.
type lineChoice struct {
	numbers []int // of its changed lines, from 1, sorted
	size    Size
}

// DecideLines accepts some changed lines of a hunk of file i, which must be loaded.
// numbers count the changed lines from 1; none makes the hunk undecided, and all accept
// it. Only text hunks have lines to choose. It returns ErrRisks as Decide does.
func (d *Draft) DecideLines(i int, id review.HunkID, numbers []int, consent bool) error {
	f := d.files[i]
	hunk := f.Index(id)
	if hunk < 0 || !CanChooseLines(&f.hunks[hunk]) {
		return nil
	}
	if len(numbers) > 0 && f.NeedsConsent() && !consent {
		return ErrRisks
	}
	d.record(hunkState(i, f, hunk))
	if len(numbers) > 0 {
		d.agree(f, Accepted)
	}
	f.decideLines(hunk, numbers)
	f.annotate(id, "")
	return nil
}

// CanChooseLines reports whether single lines of a hunk can be accepted.
func CanChooseLines(h *review.Hunk) bool {
	return h.Kind == review.HunkText && len(h.Changed()) > 1
}

// AcceptedLines returns the numbers of the accepted lines of a loaded hunk, from 1.
func (f *File) AcceptedLines(h *review.Hunk) []int {
	var numbers []int
	switch f.Of(h.ID) {
	case Partial:
		return f.lines[h.ID].numbers
	case Accepted:
		for n := range h.Changed() {
			numbers = append(numbers, n+1)
		}
	}
	return numbers
}

// decideLines accepts some lines of hunk i.
func (f *File) decideLines(i int, numbers []int) {
	h := &f.hunks[i]
	numbers = slices.Sorted(slices.Values(numbers))
	changed := h.Changed()
	var choice lineChoice
	for n, at := range changed {
		if _, taken := slices.BinarySearch(numbers, n+1); !taken {
			continue
		}
		choice.numbers = append(choice.numbers, n+1)
		if h.Lines[at].Op == '+' {
			choice.size.Added++
		} else {
			choice.size.Deleted++
		}
	}
	switch len(choice.numbers) {
	case 0:
		f.decide(i, Undecided)
	case len(changed):
		f.decide(i, Accepted)
	default:
		f.decide(i, Partial)
		f.setLines(h.ID, choice)
	}
}

func (f *File) setLines(id review.HunkID, choice lineChoice) {
	if f.lines == nil {
		f.lines = map[review.HunkID]lineChoice{}
	}
	f.lines[id] = choice
}

// linesSize counts the lines that were accepted one by one.
func (f *File) linesSize() (size Size) {
	for _, choice := range f.lines {
		size = size.plus(choice.size)
	}
	return size
}

// splitLines divides the accepted lines of a hunk among its parts, which start at index i.
func (f *File) splitLines(i int, parts []review.Hunk, numbers []int) {
	before := 0
	for j := range parts {
		n := len(parts[j].Changed())
		var own []int
		for _, number := range numbers {
			if number > before && number <= before+n {
				own = append(own, number-before)
			}
		}
		before += n
		f.decideLines(i+j, own)
	}
}
