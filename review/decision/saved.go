package decision

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"aibox/internal/fault"
	"aibox/review"
)

// Saved holds the decisions of a draft, to be stored as JSON. It belongs to one change
// set.
type Saved struct {
	Base  string      `json:"base"` // the trees of the change set
	Tree  string      `json:"tree"`
	Files []SavedFile `json:"files"`
}

// SavedFile holds the decisions about one file.
type SavedFile struct {
	Path     review.Path                `json:"path"`
	Decision Decision                   `json:"decision"`        // about every hunk that is not in Hunks
	Hunks    map[review.HunkID]Decision `json:"hunks,omitempty"` // about single hunks or their parts
	Lines    map[review.HunkID][]int    `json:"lines,omitempty"` // accepted lines of hunks that are accepted in part, from 1
	Split    []review.HunkID            `json:"split,omitempty"` // hunks that their parts replace
	Notes    map[review.HunkID]string   `json:"notes,omitempty"` // why hunks were rejected
	Consent  bool                       `json:"consent,omitempty"`
}

// MarshalText writes the decision's name.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Decision) UnmarshalText(text []byte) error {
	for known := range numDecisions {
		if known.String() == string(text) {
			*d = known
			return nil
		}
	}
	return fault.New(fault.Usage, "%q is not a decision", text)
}

// Empty reports whether nothing is decided. nil is empty.
func (s *Saved) Empty() bool {
	return !slices.ContainsFunc(s.All(), func(f SavedFile) bool { return f.Decision != Undecided || len(f.Hunks) > 0 })
}

// All returns the files. nil has none.
func (s *Saved) All() []SavedFile {
	if s == nil {
		return nil
	}
	return s.Files
}

// Check returns an error unless the decisions were made on this change set.
func (s *Saved) Check(set *review.ChangeSet) error {
	if s.Base != set.BaseTree || s.Tree != set.Tree {
		return errors.New("the saved decisions belong to other changes")
	}
	names := set.Names()
	for _, f := range s.Files {
		if names.At(f.Path) == nil {
			return fmt.Errorf("the saved decisions name %s, which was not changed", f.Path)
		}
	}
	return nil
}

// Detailed returns the paths of the files whose hunks Restore needs.
func (s *Saved) Detailed() []review.Path {
	var paths []review.Path
	for _, f := range s.All() {
		if f.detailed() {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// WithoutDelivered returns the decisions that remain when taken is delivered, of the change set that
// they belong to. taken includes before, which earlier accepts delivered; decisions about files of
// which it has nothing more stay. Of a file that is delivered in part, what was accepted becomes
// undecided.
func (s *Saved) WithoutDelivered(set *review.ChangeSet, before, taken *review.Selection) *Saved {
	names, left := set.Names(), &Saved{Base: s.Base, Tree: s.Tree}
	for _, f := range s.Files {
		t := taken.At(f.Path)
		more := t != nil && !reflect.DeepEqual(t, before.At(f.Path))
		if more && (t.Whole && t.Fits(names.At(f.Path)) || !f.dropAccepted()) {
			continue
		}
		left.Files = append(left.Files, f)
	}
	return left
}

// dropAccepted makes what is accepted undecided. It reports whether another decision remains.
func (s *SavedFile) dropAccepted() bool {
	s.Hunks, s.Lines, s.Consent = maps.Clone(s.Hunks), nil, false
	if s.Decision.accepts() {
		s.Decision = Undecided
	}
	remains := s.Decision != Undecided
	for id, to := range s.Hunks {
		if to.accepts() {
			s.Hunks[id] = Undecided
		}
		remains = remains || s.Hunks[id] != Undecided
	}
	return remains
}

// accepts reports whether the decision delivers something.
func (d Decision) accepts() bool { return d == Accepted || d == Partial }

func (s *SavedFile) detailed() bool { return len(s.Hunks)+len(s.Split)+len(s.Lines) > 0 }

// Save returns the decisions. The draft may change afterward.
func (d *Draft) Save(set *review.ChangeSet) *Saved {
	s := &Saved{Base: set.BaseTree, Tree: set.Tree, Files: []SavedFile{}}
	for _, f := range d.files {
		if f.whole == Undecided && len(f.own)+len(f.split) == 0 && !f.risksAgreed {
			continue
		}
		s.Files = append(s.Files, SavedFile{
			Lines: f.savedLines(),
			Path:  f.Change.Path, Decision: f.whole, Hunks: maps.Clone(f.own),
			Split: slices.Sorted(maps.Keys(f.split)), Notes: maps.Clone(f.notes), Consent: f.risksAgreed,
		})
	}
	return s
}

// Restore makes the saved decisions and returns the number of files that have one. hunks
// holds the hunks of the files in Detailed. A file with risks to which the user did not
// consent stays undecided. There is no undo for it.
func (d *Draft) Restore(s *Saved, hunks map[review.Path][]review.Hunk) (files int) {
	for _, saved := range s.All() {
		i := d.Find(saved.Path)
		if i < 0 {
			continue
		}
		f := d.files[i]
		f.decideAll(Undecided)
		f.risksAgreed = saved.Consent && f.Risky()
		if saved.detailed() {
			if hunks[saved.Path] == nil {
				continue
			}
			d.Load(i, hunks[saved.Path])
		}
		saved.restore(f)
		d.Unload(i)
		d.version++
		if f.whole != Undecided || len(f.own) > 0 {
			files++
		}
	}
	return files
}

// restore makes the decisions about a file. Its hunks are loaded when there are decisions
// about single ones.
func (s *SavedFile) restore(f *File) {
	refused := func(to Decision) bool { return to == Accepted && f.NeedsConsent() }
	for _, id := range s.Split {
		if i := f.Index(id); i >= 0 {
			f.splitHunk(i)
		}
	}
	if !refused(s.Decision) && s.Decision != Partial {
		f.decideAll(s.Decision)
	}
	for id, to := range s.Hunks {
		if i := f.Index(id); i >= 0 && !refused(to) && to != Partial {
			f.decide(i, to)
		}
	}
	for id, numbers := range s.Lines {
		if i := f.Index(id); i >= 0 && !refused(Accepted) && CanChooseLines(&f.hunks[i]) {
			f.decideLines(i, numbers)
		}
	}
	f.notes = maps.Clone(s.Notes)
}

func (f *File) savedLines() map[review.HunkID][]int {
	if len(f.lines) == 0 {
		return nil
	}
	lines := map[review.HunkID][]int{}
	for id, choice := range f.lines {
		lines[id] = choice.numbers
	}
	return lines
}
