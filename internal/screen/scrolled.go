package screen

import (
	"aibox/internal/ctrlseq"

	uv "github.com/charmbracelet/ultraviolet"
)

// caught is the rows that the emulator keeps until they are taken: no less than one
// token can scroll off.
const caught = maxRows + ctrlseq.MaxText

// NewCatching makes an empty screen of this size, within bounds, that keeps what
// scrolls off it until Scrolled is called, which has to be done now and then.
func NewCatching(size Size) *Screen {
	s := &Screen{size: size.Bound(), catching: true}
	s.reset()
	return s
}

// Scrolled returns what scrolled off the main screen since the last call: whole lines
// of text with all colors, as of Text. As on any terminal, what was drawn on the
// alternate screen, or drawn over, is not in it.
func (s *Screen) Scrolled() []byte {
	scrolled := s.scrolled
	s.scrolled = nil
	return scrolled
}

// catch takes what the emulator has kept.
func (s *Screen) catch() {
	if s.main.ScrollbackLen() == 0 {
		return
	}
	for _, line := range s.main.Scrollback().Lines() {
		at := func(x int) *uv.Cell { return &line[x] }
		s.scrolled = append(append(s.scrolled, lineOf(at, len(line), TrueColors)...), '\n')
	}
	s.main.ClearScrollback()
}
