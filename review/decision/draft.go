package decision

import (
	"maps"
	"slices"

	"aibox/review"
	"aibox/review/accept"
)

// Options define the starting point of a review. The zero value is a first review, for a
// branch.
type Options struct {
	Target   accept.Target
	Earlier  map[accept.Target]*review.Selection // changes that earlier accepts took
	Rejected func(review.HunkID) bool            // hunks that the user rejected earlier; nil means none

	// HunksOnly names accepted hunks by their ids even where all of a file's are
	// accepted.
	HunksOnly bool
}

// Draft is a review in progress. It is not safe for concurrent use.
type Draft struct {
	files   []*File
	byPath  map[review.Path]int
	options Options
	stored  map[review.HunkID]bool // hunks of these files that are stored as rejected
	target  accept.Target
	undo    []step
	version int
	tally   Tally
	tallied int // the version that tally belongs to
}

// New starts a review of changes. Files with risks come first; otherwise the order is
// unchanged.
func New(changes []*review.Change, o Options) *Draft {
	if o.Rejected == nil {
		o.Rejected = func(review.HunkID) bool { return false }
	}
	d := &Draft{options: o, target: o.Target, byPath: make(map[review.Path]int, len(changes)), version: 1}
	for _, c := range changes {
		d.files = append(d.files, &File{Change: c})
	}
	slices.SortStableFunc(d.files, func(a, b *File) int {
		switch {
		case a.Risky() == b.Risky():
			return 0
		case a.Risky():
			return -1
		default:
			return 1
		}
	})
	for i, f := range d.files {
		d.byPath[f.Change.Path] = i
	}
	earlierOf(d.files, o.Earlier)
	return d
}

// Len returns the number of files.
func (d *Draft) Len() int { return len(d.files) }

// File returns file i.
func (d *Draft) File(i int) *File { return d.files[i] }

// Find returns the index of the file with a path, or -1.
func (d *Draft) Find(path review.Path) int {
	if i, ok := d.byPath[path]; ok {
		return i
	}
	return -1
}

// Target returns the target of the accept.
func (d *Draft) Target() accept.Target { return d.target }

// SetTarget changes the target of the accept. The decisions stay.
func (d *Draft) SetTarget(target accept.Target) {
	d.target = target
	d.version++
}

// Earlier returns what earlier accepts delivered to the target; nil for nothing.
func (d *Draft) Earlier() *review.Selection { return d.options.Earlier[d.target] }

// Version changes with every decision and with the target.
func (d *Draft) Version() int { return d.version }

// Tally counts the effects of accepting.
func (d *Draft) Tally() Tally {
	if d.tallied != d.version {
		d.tally, d.tallied = d.count(), d.version
	}
	return d.tally
}

// Load gives file i its hunks, with their lines. Hunks that were split before are
// split again.
func (d *Draft) Load(i int, hunks []review.Hunk) { d.files[i].load(hunks) }

// Unload drops the lines of file i. Its hunks and decisions stay.
func (d *Draft) Unload(i int) { d.files[i].unload() }

// RestoreRejections sets the hunks of file i that the user rejected earlier to Rejected,
// and splits a hunk if parts of it were. The file must be loaded. There is no undo for it.
func (d *Draft) RestoreRejections(i int) {
	f, rejected := d.files[i], d.options.Rejected
	d.version++
	for j := 0; j < len(f.hunks); j++ {
		if id := f.hunks[j].ID; rejected(id) {
			f.decide(j, Rejected)
			d.Stored(id)
			continue
		}
		part := func(part review.Hunk) bool { return rejected(part.ID) }
		if slices.ContainsFunc(f.hunks[j].Split(), part) && f.splitHunk(j) > 1 {
			j-- // check the parts
		}
	}
}

// Stored notes that hunks are stored as rejected, by this review or an earlier one.
func (d *Draft) Stored(hunks ...review.HunkID) {
	if d.stored == nil {
		d.stored = map[review.HunkID]bool{}
	}
	for _, id := range hunks {
		d.stored[id] = true
	}
	d.version++
}

// StoredRejections returns the hunks of these files that are, or were, stored as rejected,
// whatever the user has decided about them since.
func (d *Draft) StoredRejections() []review.HunkID {
	return slices.Sorted(maps.Keys(d.stored))
}

// NextUndecided returns the first file after from, around the end, with something
// undecided that was not delivered before, or -1.
func (d *Draft) NextUndecided(from int) int {
	for n := 1; n <= len(d.files); n++ {
		i := (from + n) % len(d.files)
		f := d.files[i]
		if _, mixed := f.Sum(); f.HasUndecided() && (mixed || !f.Delivered(d.target)) {
			return i
		}
	}
	return -1
}
