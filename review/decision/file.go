package decision

import (
	"maps"
	"slices"

	"aibox/review"
	"aibox/review/accept"
)

// File is a changed file with the decisions about it. A decision about the whole file
// also holds for hunks that were never read.
type File struct {
	Change *review.Change

	hunks   []review.Hunk
	sizes   []Size // of the hunks
	loaded  bool
	split   map[review.HunkID]bool // hunks that their parts replace
	version int
	earlier map[accept.Target]review.Taken

	decisions
	risksAgreed bool
}

// decisions are those about one file: one for every hunk, and the exceptions from it.
type decisions struct {
	whole Decision
	own   map[review.HunkID]Decision   // hunks with another decision than whole
	count [numDecisions]int            // number of the decisions in own
	sums  [numDecisions]Size           // of the hunks in own
	notes map[review.HunkID]string     // why hunks were rejected
	lines map[review.HunkID]lineChoice // of the hunks that are Partial
}

// Hunks returns the hunks, with the parts of split ones in their places: none before
// Draft.Load, and without lines after Draft.Unload. The caller must not change them.
func (f *File) Hunks() []review.Hunk { return f.hunks }

// Loaded reports whether the hunks have their lines.
func (f *File) Loaded() bool { return f.loaded }

// Version changes whenever Hunks does.
func (f *File) Version() int { return f.version }

// Risky reports whether the file has risks that keep it out of a plain accept.
func (f *File) Risky() bool { return f.Change.Risky() }

// NeedsConsent reports whether accepting something of the file takes the user's
// consent to its risks first.
func (f *File) NeedsConsent() bool { return f.Risky() && !f.risksAgreed }

// Of returns the decision about a hunk.
func (f *File) Of(id review.HunkID) Decision {
	if d, ok := f.own[id]; ok {
		return d
	}
	return f.whole
}

// Sum returns the decision about the whole file. When mixed is set its hunks differ.
func (f *File) Sum() (d Decision, mixed bool) { return f.whole, len(f.own) > 0 }

// Index returns the index of a hunk, or -1.
func (f *File) Index(id review.HunkID) int {
	return slices.IndexFunc(f.hunks, func(h review.Hunk) bool { return h.ID == id })
}

// NextUndecided returns the first undecided hunk from index from on, else the first of
// the file, else -1.
func (f *File) NextUndecided(from int) int {
	if next := f.Undecided(from, 1); next >= 0 {
		return next
	}
	return f.Undecided(0, 1)
}

// Undecided returns the first undecided hunk from index from on, in steps of by, or -1.
func (f *File) Undecided(from, by int) int {
	for i := from; i >= 0 && i < len(f.hunks); i += by {
		if f.Of(f.hunks[i].ID) == Undecided {
			return i
		}
	}
	return -1
}

// HasUndecided reports whether the file has an undecided hunk, read or not.
func (f *File) HasUndecided() bool {
	if len(f.own) == 0 {
		return f.whole == Undecided
	}
	return f.count[Undecided] > 0 || f.whole == Undecided && len(f.own) < len(f.hunks)
}

// accepts returns how many lines are accepted.
func (f *File) accepts() Size {
	if f.whole != Accepted {
		return f.sums[Accepted].plus(f.linesSize())
	}
	size := Size{f.Change.Added, f.Change.Deleted}.plus(f.linesSize())
	for _, sum := range f.sums {
		size = size.minus(sum)
	}
	return size
}

// with returns the ids of the hunks with a decision.
func (f *File) with(d Decision) []review.HunkID {
	var ids []review.HunkID
	for i := range f.hunks {
		if id := f.hunks[i].ID; f.Of(id) == d {
			ids = append(ids, id)
		}
	}
	return ids
}

// load sets the hunks, and splits those that were split before.
func (f *File) load(hunks []review.Hunk) {
	f.hunks, f.loaded = slices.Clone(hunks), true
	for i := 0; i < len(f.hunks); i++ {
		if f.split[f.hunks[i].ID] {
			f.hunks = slices.Replace(f.hunks, i, i+1, f.hunks[i].Split()...)
		}
	}
	f.measure()
}

// measure counts the changed lines of the hunks.
func (f *File) measure() {
	f.version++
	f.sizes = make([]Size, len(f.hunks))
	for i := range f.hunks {
		for j := range f.hunks[i].Lines {
			switch f.hunks[i].Lines[j].Op {
			case '+':
				f.sizes[i].Added++
			case '-':
				f.sizes[i].Deleted++
			}
		}
	}
}

// unload drops the lines of the hunks.
func (f *File) unload() {
	f.loaded, f.hunks = false, slices.Clone(f.hunks)
	f.version++
	for i := range f.hunks {
		f.hunks[i].Lines = nil
	}
}

// decide sets the decision about a hunk.
func (f *File) decide(i int, d Decision) {
	id, size := f.hunks[i].ID, f.sizes[i]
	was := f.Of(id)
	delete(f.lines, id)
	if was == d {
		return
	}
	if _, ok := f.own[id]; ok {
		f.count[was]--
		f.sums[was] = f.sums[was].minus(size)
		delete(f.own, id)
	}
	if d != f.whole {
		if f.own == nil {
			f.own = map[review.HunkID]Decision{}
		}
		f.own[id] = d
		f.count[d]++
		f.sums[d] = f.sums[d].plus(size)
	}
	if f.count[d] == len(f.hunks) {
		f.whole, f.own, f.count, f.sums = d, nil, [numDecisions]int{}, [numDecisions]Size{}
	}
}

// decideAll sets the decision about every hunk.
func (f *File) decideAll(d Decision) { f.decisions = decisions{whole: d} }

// annotate sets why a hunk was rejected. An empty note removes it.
func (f *File) annotate(id review.HunkID, note string) {
	if f.notes[id] == note {
		return
	}
	if f.notes == nil {
		f.notes = map[review.HunkID]string{}
	}
	f.notes[id] = note
}

// splitHunk replaces hunk i by its parts, which keep its decision. It returns how many
// there are; a hunk that cannot be split stays.
func (f *File) splitHunk(i int) int {
	parts := f.hunks[i].Split()
	if len(parts) < 2 {
		return 1
	}
	id := f.hunks[i].ID
	was := f.Of(id)
	if numbers := f.lines[id].numbers; was == Partial {
		f.decide(i, Undecided)
		defer f.splitLines(i, parts, numbers)
		was = Undecided
	}
	own := was != f.whole
	if own {
		f.decide(i, f.whole)
	}
	f.hunks = slices.Replace(slices.Clone(f.hunks), i, i+1, parts...)
	f.measure()
	f.split = maps.Clone(f.split)
	if f.split == nil {
		f.split = map[review.HunkID]bool{}
	}
	f.split[id] = true
	for j := range parts {
		if own {
			f.decide(i+j, was)
		}
	}
	return len(parts)
}

// joinHunk puts a hunk back in the place of its parts, which start at index i.
func (f *File) joinHunk(i, parts int, h review.Hunk) {
	var size Size
	for _, s := range f.sizes[i : i+parts] {
		size = size.plus(s)
	}
	if !f.loaded {
		h.Lines = nil
	}
	f.hunks = slices.Replace(slices.Clone(f.hunks), i, i+parts, h)
	f.sizes = slices.Replace(slices.Clone(f.sizes), i, i+parts, size)
	f.split = maps.Clone(f.split)
	delete(f.split, h.ID)
	f.version++
}
