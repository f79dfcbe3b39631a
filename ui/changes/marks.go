package changes

import (
	"charm.land/lipgloss/v2"

	"aibox/review/accept"
)

// mark tells what was decided about a file, or what was accepted of it before.
type mark int

const (
	unmarked mark = iota
	takenMark
	rejectedMark
	mixedMark  // its hunks differ
	doneMark   // accepted before
	partlyMark // accepted before in part
	marks      // how many there are
)

// sign is the mark on the screen, which color only repeats.
func (k mark) sign() string { return [marks]string{" ", "✓", "✗", "~", "=", "≈"}[k] }

// painted is how a mark is painted.
func (m *Model) painted(k mark) lipgloss.Style {
	t := m.theme
	return [marks]lipgloss.Style{t.Plain, t.Good, t.Bad, t.Live, t.Faint, t.Faint}[k]
}

// mark is that of the file for a target.
func (f *file) mark(target accept.Target) mark {
	switch d, mixed := f.sum(); {
	case mixed:
		return mixedMark
	case d == taken:
		return takenMark
	case d == rejected:
		return rejectedMark
	case f.isDone(target):
		return doneMark
	case len(f.accepted[target].Blocks) > 0:
		return partlyMark
	default:
		return unmarked
	}
}

// marked counts the marks of the files before each one, so that a folder's is found at
// once however many files it has.
type marked [][marks]int32

func markedOf(files []*file, target accept.Target) marked {
	counts := make(marked, len(files)+1)
	for i, f := range files {
		counts[i+1] = counts[i]
		counts[i+1][f.mark(target)]++
	}
	return counts
}

// of is the mark of the files from up to to: the one that all have, else that they
// differ.
func (c marked) of(from, to int) mark {
	var n [marks]int32
	for k := range n {
		n[k] = c[to][k] - c[from][k]
		if int(n[k]) == to-from {
			return mark(k)
		}
	}
	if n[takenMark]+n[rejectedMark]+n[mixedMark] > 0 {
		return mixedMark
	}
	return partlyMark
}
