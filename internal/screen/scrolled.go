package screen

import (
	"aibox/internal/ctrlseq"

	uv "github.com/charmbracelet/ultraviolet"
)

// caught is how many rows the emulator keeps until they are taken: at least as many as one
// token can scroll off.
const caught = maxRows + ctrlseq.MaxText

// NewCatching makes an empty screen of this size, within bounds, that keeps the lines that
// scroll off it until Scrolled is called. Call that regularly.
func NewCatching(size Size) *Screen {
	s := &Screen{size: size.Bound(), catching: true}
	s.reset()
	return s
}

// Scrolled returns the lines that scrolled off the main screen since the last call, with
// all colors, in the form of Text. As on any terminal, they do not include the alternate
// screen, or text that was drawn over.
func (s *Screen) Scrolled() []byte {
	scrolled := s.scrolled
	s.scrolled = nil
	return scrolled
}

// catch takes the lines that the emulator has kept.
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
