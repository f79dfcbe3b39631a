package decision

import (
	"maps"

	"aibox/review"
)

// step is the state before one call of everything that the call changed.
type step []state

// state is a file, or one hunk of it, before a change.
type state struct {
	file    int
	consent bool

	hunk review.HunkID // empty: decisions holds the whole file
	was  Decision
	note string
	some lineChoice // if was is Partial

	decisions

	split *review.Hunk // the hunk that parts replaced
	at    int          // the index of the first part
	parts int
}

func hunkState(i int, f *File, hunk int) state {
	id := f.hunks[hunk].ID
	return state{file: i, consent: f.risksAgreed, hunk: id, was: f.Of(id), note: f.notes[id], some: f.lines[id]}
}

// fileState shares the maps of the file, which must be replaced and not changed.
func fileState(i int, f *File) state {
	return state{file: i, consent: f.risksAgreed, decisions: f.decisions}
}

// cloned returns the state with separate maps.
func (s state) cloned() state {
	s.own, s.notes, s.lines = maps.Clone(s.own), maps.Clone(s.notes), maps.Clone(s.lines)
	return s
}

// record keeps a step that Undo reverts.
func (d *Draft) record(s ...state) {
	d.undo = append(d.undo, s)
	d.version++
}

// Steps returns how many steps Undo can revert.
func (d *Draft) Steps() int { return len(d.undo) }

// Undo reverts the last decision or split, and reports whether there was one.
func (d *Draft) Undo() bool {
	last := len(d.undo) - 1
	if last < 0 {
		return false
	}
	for _, s := range d.undo[last] {
		s.restore(d.files[s.file])
	}
	d.undo = d.undo[:last]
	d.version++
	return true
}

func (s state) restore(f *File) {
	f.risksAgreed = s.consent
	if s.hunk != "" {
		if i := f.Index(s.hunk); i >= 0 {
			f.decide(i, s.was)
			if s.was == Partial {
				f.setLines(s.hunk, s.some)
			}
			f.annotate(s.hunk, s.note)
		}
		return
	}
	if s.split != nil {
		f.joinHunk(s.at, s.parts, *s.split)
	}
	f.decisions = s.decisions
}
