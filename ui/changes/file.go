package changes

import (
	"slices"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/syntax"
)

// file is how a changed file is shown.
type file struct {
	*decision.File

	err      error   // why its hunks could not be read
	visited  int     // when it was the current file last
	synced   int     // the version of the hunks that runs belong to
	revision int     // changes with the hunks and with the lines shown around them
	runs     [][]run // of the hunks
	language *syntax.Language

	oldLines      int // of the version before
	expanded      map[int]expanded
	expandedBytes int

	folded  map[review.HunkID]bool
	aligned [][][]pairs // the changed lines aligned without blanks; nil before that
	layout  layout
}

// newFile makes the view of a file of a draft.
func newFile(d *decision.File) *file { return &file{File: d, synced: -1} }

// sync updates what is derived from the hunks after they changed.
func (f *file) sync() {
	if f.synced == f.Version() {
		return
	}
	f.synced = f.Version()
	f.reset()
	hunks := f.Hunks()
	f.runs = make([][]run, len(hunks))
	for i := range hunks {
		f.runs[i] = runsOf(hunks[i].Lines)
	}
	if f.language == nil && f.Loaded() {
		var first []byte
		if len(hunks) > 0 && len(hunks[0].Lines) > 0 && hunks[0].NewStart == 1 {
			first = hunks[0].Lines[0].Text
		}
		f.language = syntax.Of(f.Change.Path.Raw(), first)
	}
}

// reset drops what is derived from the hunks.
func (f *file) reset() {
	f.revision++
	f.aligned, f.layout = nil, layout{}
}

// lines returns how many lines of the file are held in memory.
func (f *file) lines() int {
	n := 0
	for _, h := range f.Hunks() {
		n += len(h.Lines)
	}
	for _, s := range f.expanded {
		n += len(s.head) + len(s.tail)
	}
	return n
}

// longDeletion is how many lines of a deleted file are shown unasked.
const longDeletion = 200

// foldLong folds the deletion of a long file.
func (f *file) foldLong() {
	for _, h := range f.Hunks() {
		if h.Kind == review.HunkDeleted && len(h.Lines) > longDeletion && f.folded == nil {
			f.fold(h.ID, true)
		}
	}
}

func (f *file) fold(id review.HunkID, folded bool) {
	if f.folded == nil {
		f.folded = map[review.HunkID]bool{}
	}
	f.folded[id] = folded
}

// toggleFolds folds all hunks, or unfolds them when one is folded.
func (f *file) toggleFolds() {
	some := slices.ContainsFunc(f.Hunks(), func(h review.Hunk) bool { return f.folded[h.ID] })
	for _, h := range f.Hunks() {
		f.fold(h.ID, !some)
	}
}
