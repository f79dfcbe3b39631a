package diff

import (
	"slices"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/syntax"
)

// File is how a changed file is shown.
type File struct {
	*decision.File

	Err      error   // why its hunks could not be read
	visited  int     // when it was the current file last
	synced   int     // the version of the hunks that runs belong to
	Revision int     // changes with the hunks and with the lines shown around them
	runs     [][]run // of the hunks
	Language *syntax.Language

	oldLines      int // of the version before
	expanded      map[int]expanded
	ExpandedBytes int

	folded  map[review.HunkID]bool
	Aligned [][][]pairs // the changed lines aligned without blanks; nil before that
	Layout  Layout
}

// NewFile makes the view of a file of a draft.
func NewFile(d *decision.File) *File { return &File{File: d, synced: -1} }

// Sync updates the data derived from the hunks after they changed.
func (f *File) Sync() {
	if f.synced == f.Version() {
		return
	}
	f.synced = f.Version()
	f.Reset()
	hunks := f.Hunks()
	f.runs = make([][]run, len(hunks))
	for i := range hunks {
		f.runs[i] = runsOf(hunks[i].Lines)
	}
	if f.Language == nil && f.Loaded() {
		var first []byte
		if len(hunks) > 0 && len(hunks[0].Lines) > 0 && hunks[0].NewStart == 1 {
			first = hunks[0].Lines[0].Text
		}
		f.Language = syntax.Of(f.Change.Path.Raw(), first)
	}
}

// Reset drops the data derived from the hunks.
func (f *File) Reset() {
	f.Revision++
	f.Aligned, f.Layout = nil, Layout{}
}

// Lines returns how many lines of the file are held in memory.
func (f *File) Lines() int {
	n := 0
	for _, h := range f.Hunks() {
		n += len(h.Lines)
	}
	for _, s := range f.expanded {
		n += len(s.head) + len(s.tail)
	}
	return n
}

// LongDeletion is the maximum number of lines of a deleted file that are shown at first. A longer
// deletion is folded.
const LongDeletion = 200

// foldLong folds the deletion of a long file.
func (f *File) foldLong() {
	for _, h := range f.Hunks() {
		if h.Kind == review.HunkDeleted && len(h.Lines) > LongDeletion && f.folded == nil {
			f.fold(h.ID, true)
		}
	}
}

func (f *File) fold(id review.HunkID, folded bool) {
	if f.folded == nil {
		f.folded = map[review.HunkID]bool{}
	}
	f.folded[id] = folded
}

// toggleFolds folds all hunks, or unfolds them when one is folded.
func (f *File) toggleFolds() {
	some := slices.ContainsFunc(f.Hunks(), func(h review.Hunk) bool { return f.folded[h.ID] })
	for _, h := range f.Hunks() {
		f.fold(h.ID, !some)
	}
}
