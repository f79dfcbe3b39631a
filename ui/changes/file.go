package changes

import (
	"maps"
	"slices"

	"aibox/review"
	"aibox/ui/syntax"
)

// decision is what a person has decided about a hunk.
type decision int

const (
	open decision = iota
	taken
	rejected
	decisions // how many there are
)

// size is how many lines are added and deleted.
type size struct{ added, deleted int }

func (s size) plus(other size) size { return size{s.added + other.added, s.deleted + other.deleted} }

func (s size) minus(other size) size { return size{s.added - other.added, s.deleted - other.deleted} }

// file is a changed file with what was decided about it.
type file struct {
	change   *review.Change
	risky    bool
	hunks    []review.Hunk // none before they were read; without their lines when those were let go
	sizes    []size        // of the hunks
	runs     [][]run       // of the hunks
	loaded   bool          // the hunks have their lines
	err      error         // why they could not be read
	seen     int           // when a person was at the file last
	parted   map[review.HunkID]bool
	folded   map[review.HunkID]bool
	language *syntax.Language
	total    int           // lines of the version before
	shown    map[int]shown // of gaps, by how many old lines stand before them
	unfolded int           // bytes of shown
	version  int           // counts how often the hunks or what is shown of gaps became others
	aligned  [][][]pairs   // their lines as they are without blanks; nil before they were compared
	layout   layout
	accepted accepted

	whole decision                   // of every hunk that has no decision of its own
	own   map[review.HunkID]decision // of single hunks, where it is another one
	count [decisions]int             // of the decisions in own
	sums  [decisions]size            // of their hunks
	risk  bool                       // the person takes it in spite of its risks
}

// fill gives the file its hunks, as they are divided.
func (f *file) fill(hunks []review.Hunk) {
	f.hunks, f.loaded = hunks, true
	f.renew()
	for i := 0; i < len(f.hunks); i++ {
		if f.parted[f.hunks[i].ID] {
			f.hunks = slices.Replace(f.hunks, i, i+1, f.hunks[i].Split()...)
		}
	}
	f.measure()
	if f.language == nil {
		var first []byte
		if len(hunks) > 0 && len(hunks[0].Lines) > 0 && hunks[0].NewStart == 1 {
			first = hunks[0].Lines[0].Text
		}
		f.language = syntax.Of(f.change.Path.Raw(), first)
	}
}

// renew forgets what was made of the hunks.
func (f *file) renew() {
	f.version++
	f.aligned, f.layout = nil, layout{}
}

// measure finds and counts the changed lines of the hunks.
func (f *file) measure() {
	f.sizes, f.runs = make([]size, len(f.hunks)), make([][]run, len(f.hunks))
	for i := range f.hunks {
		f.runs[i] = runsOf(f.hunks[i].Lines)
		for _, r := range f.runs[i] {
			f.sizes[i] = f.sizes[i].plus(size{r.to - r.added, r.added - r.from})
		}
	}
}

// lines is how many lines of the file are held.
func (f *file) lines() int {
	n := 0
	for i := range f.hunks {
		n += len(f.hunks[i].Lines)
	}
	for _, s := range f.shown {
		n += len(s.head) + len(s.tail)
	}
	return n
}

// letGo gives the lines of the hunks up, which are read again when they are needed.
func (f *file) letGo() {
	f.loaded, f.hunks, f.runs = false, slices.Clone(f.hunks), make([][]run, len(f.hunks))
	f.renew()
	f.forgetGaps()
	for i := range f.hunks {
		f.hunks[i].Lines = nil
	}
}

// of is the decision about a hunk.
func (f *file) of(id review.HunkID) decision {
	if d, ok := f.own[id]; ok {
		return d
	}
	return f.whole
}

// decide sets the decision about hunk i.
func (f *file) decide(i int, d decision) {
	id, lines := f.hunks[i].ID, f.sizes[i]
	was := f.of(id)
	if was == d {
		return
	}
	if _, ok := f.own[id]; ok {
		f.count[was]--
		f.sums[was] = f.sums[was].minus(lines)
		delete(f.own, id)
	}
	if d != f.whole {
		if f.own == nil {
			f.own = map[review.HunkID]decision{}
		}
		f.own[id] = d
		f.count[d]++
		f.sums[d] = f.sums[d].plus(lines)
	}
	if f.count[d] == len(f.hunks) {
		f.decideAll(d)
	}
}

// decideAll sets the decision about all hunks.
func (f *file) decideAll(d decision) {
	f.whole, f.own, f.count, f.sums = d, nil, [decisions]int{}, [decisions]size{}
}

// sum is the decision about the whole file; mixed when its hunks differ.
func (f *file) sum() (d decision, mixed bool) { return f.whole, len(f.own) > 0 }

// takes is how many lines are taken of the file.
func (f *file) takes() size {
	if f.whole == taken {
		return size{f.change.Added, f.change.Deleted}.minus(f.sums[open]).minus(f.sums[rejected])
	}
	return f.sums[taken]
}

// number is the place of a hunk among the file's, or -1.
func (f *file) number(id review.HunkID) int {
	return slices.IndexFunc(f.hunks, func(h review.Hunk) bool { return h.ID == id })
}

// split puts the parts of hunk i in its place, which have its decision.
func (f *file) split(i int) bool {
	parts := f.hunks[i].Split()
	if len(parts) < 2 {
		return false
	}
	id, was := f.hunks[i].ID, f.of(f.hunks[i].ID)
	own := was != f.whole
	if own {
		f.decide(i, f.whole)
	}
	f.hunks = slices.Replace(slices.Clone(f.hunks), i, i+1, parts...)
	f.renew()
	f.measure()
	f.parted = maps.Clone(f.parted)
	if f.parted == nil {
		f.parted = map[review.HunkID]bool{}
	}
	f.parted[id] = true
	for j := range parts {
		if own {
			f.decide(i+j, was)
		}
	}
	return true
}

// takeOver sets the decisions of another day: the hunks and parts of hunks that were
// rejected.
func (f *file) takeOver(wasRejected func(review.HunkID) bool) {
	for i := 0; i < len(f.hunks); i++ {
		if wasRejected(f.hunks[i].ID) {
			f.decide(i, rejected)
			continue
		}
		if slices.ContainsFunc(f.hunks[i].Split(), func(part review.Hunk) bool { return wasRejected(part.ID) }) && f.split(i) {
			i-- // look at the parts
		}
	}
}
