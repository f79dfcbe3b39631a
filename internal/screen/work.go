package screen

import (
	"bytes"

	"aibox/internal/ctrlseq"
)

// The emulator's work is counted in cells that it may touch, so that input can be
// taken in slices. The counts are upper bounds: x/vt copies a screen to scroll it by one
// line.

// Advance takes bytes of the agent as Write does, but stops after about budget work, in
// cells. It returns how many bytes it took, at least one unless p is empty; pass the rest
// to the next call. One call exceeds budget by no more than a single token costs, which is
// a few times the screen.
func (s *Screen) Advance(p []byte, budget int) int {
	limit := s.work + int64(budget)
	return s.in.each(p, func(t token) {
		s.work += s.cost(t)
		s.guarded(func() { s.take(t) })
		if s.catching {
			s.catch()
		}
	}, func() bool { return s.work < limit })
}

// Work returns how many cells the emulator may have touched so far.
func (s *Screen) Work() int64 { return s.work }

// cost returns the number of cells that a token may touch.
func (s *Screen) cost(t token) int64 {
	row, all := int64(s.size.Cols), int64(s.size.Rows*s.size.Cols)
	switch t.Kind {
	case ctrlseq.Text:
		return s.costOfText(t)
	case ctrlseq.Control:
		if t.Final == '\n' || t.Final == '\v' || t.Final == '\f' {
			return 1 + all
		}
	case ctrlseq.Escape:
		switch t.Final {
		case 'D', 'E', 'M':
			return 1 + all
		case 'c':
			return 1 + 2*all
		}
	case ctrlseq.CSI:
		size := int64(1 + len(t.Data))
		switch t.Final {
		case 'L', 'M', 'S', 'T':
			return size + all
		case 'J':
			return size + 2*all
		case 'h', 'l':
			if bytes.HasPrefix(t.Data, []byte("?")) { // it may change to the alternate screen
				size += 2 * all
			}
			return size
		case '@', 'P', 'X', 'K':
			return size + row
		case 'b': // it stays in the line, but that may be the last one
			return size + row
		}
		return size
	}
	return int64(1 + len(t.Data))
}

// costOfText returns the number of cells that text may touch: its own, those that it moves,
// and those that scroll if it continues after the last line.
func (s *Screen) costOfText(t token) int64 {
	width := max(len(t.Data), 1)
	if t.Data[0] >= 0x80 {
		width = t.width
	}
	at := s.current().CursorPosition()
	lines := (at.X + width) / s.size.Cols
	if s.wrap {
		lines++
	}
	scrolls := max(at.Y+lines-s.size.Rows+1, 0)
	if s.region { // the region may end in any line
		scrolls = lines
	}
	cells := int64(width) + int64(scrolls*s.size.Rows*s.size.Cols)
	if s.modes.insert {
		cells += int64(s.size.Cols)
	}
	return cells
}
