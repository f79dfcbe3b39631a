package changes

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"aibox/review"
)

// decision is what a person has decided about a hunk.
type decision int

const (
	open decision = iota
	taken
	rejected
)

// row is a line of a file's diff: the head of a hunk when line is -1.
type row struct{ hunk, line int }

// file is a changed file with what was decided about it.
type file struct {
	change *review.Change
	hunks  []review.Hunk
	rows   []row
	asked  bool
	loaded bool
	err    error

	whole  decision                   // of every hunk that has no decision of its own
	own    map[review.HunkID]decision // of single hunks
	before func(review.HunkID) bool   // whether a hunk was rejected earlier
	risk   bool                       // the person takes it in spite of its risks
}

// flatten lists the lines of all hunks, so that any window of them can be shown
// without looking at the others.
func (f *file) flatten() {
	n := 0
	for _, h := range f.hunks {
		n += 1 + len(h.Lines)
	}
	f.rows = make([]row, 0, n)
	for i, h := range f.hunks {
		f.rows = append(f.rows, row{i, -1})
		for j := range h.Lines {
			f.rows = append(f.rows, row{i, j})
		}
	}
}

// of is the decision about a hunk.
func (f *file) of(id review.HunkID) decision {
	if d, ok := f.own[id]; ok {
		return d
	}
	return f.whole
}

// earlier takes over what was rejected on another day.
func (f *file) earlier() {
	for _, h := range f.hunks {
		if f.before != nil && f.before(h.ID) {
			f.decide(h.ID, rejected)
		}
	}
}

// decide sets the decision about one hunk.
func (f *file) decide(id review.HunkID, d decision) {
	f.own = maps.Clone(f.own)
	if f.own == nil {
		f.own = map[review.HunkID]decision{}
	}
	f.own[id] = d
	for _, h := range f.hunks {
		if f.of(h.ID) != d {
			return
		}
	}
	f.decideAll(d)
}

// decideAll sets the decision about all hunks.
func (f *file) decideAll(d decision) { f.whole, f.own = d, nil }

// sum is the decision about the whole file; mixed when its hunks differ.
func (f *file) sum() (d decision, mixed bool) {
	for _, own := range f.own {
		if own != f.whole {
			return open, true
		}
	}
	return f.whole, false
}

// split puts the parts of hunk i in its place.
func (f *file) split(i int) bool {
	parts := f.hunks[i].Split()
	if len(parts) < 2 {
		return false
	}
	was := f.of(f.hunks[i].ID)
	f.hunks = slices.Replace(slices.Clone(f.hunks), i, i+1, parts...)
	f.flatten()
	if was != f.whole {
		for _, part := range parts {
			f.decide(part.ID, was)
		}
	}
	return true
}

// riskyHeading stands above the files that a plain accept leaves out.
const riskyHeading = "risky, look first"

// entry is a line of the list of files: a heading, or a file.
type entry struct {
	heading string // escaped
	file    int    // index of the file, or -1
}

// arrange lists the files: those with risks first, then the others by folder.
func arrange(set *review.ChangeSet) ([]*file, []entry) {
	files := make([]*file, len(set.Changes))
	for i := range set.Changes {
		files[i] = &file{change: &set.Changes[i]}
	}
	slices.SortStableFunc(files, func(a, b *file) int {
		risky := func(f *file) int {
			if f.change.Risky() {
				return 0
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(risky(a), risky(b)),
			cmp.Compare(path.Dir(a.change.Path.Raw()), path.Dir(b.change.Path.Raw())),
			cmp.Compare(a.change.Path, b.change.Path),
		)
	})
	var entries []entry
	last := ""
	for i, f := range files {
		heading := riskyHeading
		if !f.change.Risky() {
			heading = review.Path(path.Dir(f.change.Path.Raw())).String() + "/"
			if heading == "./" {
				heading = "top of the repository"
			}
		}
		if heading != last {
			entries = append(entries, entry{heading, -1})
			last = heading
		}
		entries = append(entries, entry{"", i})
	}
	return files, entries
}

// choice is what was decided about a file, to be put back.
type choice struct {
	file  int
	whole decision
	own   map[review.HunkID]decision
	risk  bool
}

// remember puts what was decided about a file on the stack.
func (m *Model) remember(i int) {
	f := m.files[i]
	m.undo = append(m.undo, choice{i, f.whole, f.own, f.risk})
}

// back takes the last decision back.
func (m *Model) back() {
	if len(m.undo) == 0 {
		m.note.Say("there is nothing to undo", nil)
		return
	}
	c := m.undo[len(m.undo)-1]
	m.undo = m.undo[:len(m.undo)-1]
	f := m.files[c.file]
	f.whole, f.own, f.risk = c.whole, c.own, c.risk
	m.goTo(c.file)
}

// chosen is what the decisions mean for an accept. A file of which no hunk was read
// is taken as a whole, by its exact path.
func (m *Model) chosen() review.Choice {
	var c review.Choice
	for _, f := range m.files {
		before := len(c.Files) + len(c.Hunks)
		switch d, mixed := f.sum(); {
		case mixed:
			for _, h := range f.hunks {
				if f.of(h.ID) == taken {
					c.Hunks = append(c.Hunks, string(h.ID))
				}
			}
		case d == taken:
			c.Files = append(c.Files, f.change.Path.Raw())
		}
		if f.risk && len(c.Files)+len(c.Hunks) > before {
			c.Risky = append(c.Risky, f.change.Path.Raw())
		}
	}
	return c
}

// refused are the hunks that the person rejected, of the files that were read.
func (m *Model) refused() []review.HunkID {
	var ids []review.HunkID
	for _, f := range m.files {
		for _, h := range f.hunks {
			if f.of(h.ID) == rejected {
				ids = append(ids, h.ID)
			}
		}
	}
	return ids
}

// tally counts what was decided.
type tally struct{ files, taken, partly, rejected, open, risky int }

func (m *Model) tally() tally {
	t := tally{files: len(m.files)}
	for _, f := range m.files {
		switch d, mixed := f.sum(); {
		case mixed:
			t.partly++
		case d == taken:
			t.taken++
		case d == rejected:
			t.rejected++
		default:
			t.open++
			if f.change.Risky() {
				t.risky++
			}
		}
	}
	return t
}
