// Package screen is the terminal of an agent: it takes the agent's output, keeps what a
// terminal would show, answers what an agent may ask a terminal, and paints the result on
// the terminals of users.
//
// It separates an agent from the user's terminal. The agent's own bytes never pass. Only
// cells, colors, the cursor and a short list of harmless modes do, written again from the
// screen. No title, clipboard, link, notification, image, palette or query reaches the
// user's terminal.
//
// The emulation is charmbracelet/x/vt. What surrounds it is written here, because x/vt
// takes any size and any number, keeps ten thousand lines, and answers with the real
// terminal's features in mind: this package splits the input (internal/ctrlseq), passes
// on a list of known sequences with bounded numbers, counts the work and recovers from
// panics. Ultraviolet's renderer does not paint, because it writes links, titles and
// cells of any content; Painter writes checked cells only.
package screen

import (
	"fmt"
	"math"

	"github.com/charmbracelet/x/vt"
)

// Size is the size of a terminal in characters.
type Size struct{ Rows, Cols int }

// The limits of a screen. A larger one would be memory for an agent to take.
const (
	maxRows = 300
	maxCols = 600
)

// Bound returns the nearest size that a screen can have; zeros mean 24 by 80.
func (s Size) Bound() Size {
	if s.Rows <= 0 || s.Cols <= 0 {
		return Size{24, 80}
	}
	return Size{min(s.Rows, maxRows), min(max(s.Cols, 2), maxCols)}
}

// Screen is one agent's terminal. It is not safe for concurrent use.
type Screen struct {
	size  Size
	in    input
	modes modes

	// Two emulators, one for each screen, and each only ever shows its first: x/vt
	// keeps ten thousand lines that scrolled off its second screen, and nothing
	// can be done about that from outside.
	main, alt *vt.Emulator
	onAlt     bool

	// wrap says that a wide character stands in the last two columns, so that the
	// next one belongs on the next line. x/vt knows this of narrow ones only.
	wrap bool

	answers []byte
	faults  []string
	rang    bool

	work   int64 // of the emulator, in cells
	region bool  // the agent has set a scroll region since the last reset

	catching bool // what scrolls off is kept for Scrolled
	scrolled []byte
}

// New makes an empty screen of this size, within bounds.
func New(size Size) *Screen {
	s := &Screen{size: size.Bound()}
	s.reset()
	return s
}

// reset makes everything as at power-on.
func (s *Screen) reset() {
	s.main, s.alt = emulator(s.size), emulator(s.size)
	if s.catching {
		s.main.SetScrollbackSize(caught)
	}
	s.modes, s.onAlt, s.wrap, s.region = powerOn(), false, false, false
}

func emulator(size Size) *vt.Emulator {
	e := vt.NewEmulator(size.Cols, size.Rows)
	e.SetScrollbackSize(1) // none is not to be had
	return e
}

// Size returns the screen's size.
func (s *Screen) Size() Size { return s.size }

// Write takes bytes of the agent. It never fails: what cannot be understood
// changes nothing.
func (s *Screen) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[s.Advance(rest, math.MaxInt32):]
	}
	return len(p), nil
}

// Resize changes the size, within bounds. As on any terminal, what does not fit is
// gone, and agents draw again.
func (s *Screen) Resize(size Size) {
	if size = size.Bound(); size == s.size {
		return
	}
	s.size, s.wrap = size, false
	s.guarded(func() {
		s.main.Resize(size.Cols, size.Rows)
		s.alt.Resize(size.Cols, size.Rows)
	})
}

// guarded runs a step of the emulator. One that panics costs the screen its
// content, and nobody their session.
func (s *Screen) guarded(step func()) {
	defer func() {
		if r := recover(); r != nil {
			s.reset()
			if len(s.faults) < maxFaults {
				s.faults = append(s.faults, fmt.Sprint(r))
			}
		}
	}()
	step()
}

// Rang reports whether the agent has called the user since the last call: by the bell, or
// by a desktop notification. Neither reaches the user's terminal.
func (s *Screen) Rang() bool {
	rang := s.rang
	s.rang = false
	return rang
}

// maxFaults is how many failures of the emulator are kept for Faults.
const maxFaults = 8

// Faults returns what the emulator failed at since the last call: each time the
// screen was cleared. It is nil when all went well.
func (s *Screen) Faults() []string {
	faults := s.faults
	s.faults = nil
	return faults
}

// maxAnswers bounds the answers that wait. An agent that asks without reading
// gets no more.
const maxAnswers = 16 << 10

// Held says that the agent is in the middle of a change that it wants shown at
// once (synchronized output).
func (s *Screen) Held() bool { return s.modes.held }

// Answers returns what the terminal has answered to the agent since the last
// call: input for the agent. It is nil when nothing was asked.
func (s *Screen) Answers() []byte {
	answers := s.answers
	s.answers = nil
	return answers
}

func (s *Screen) answer(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.answers)+len(text) <= maxAnswers {
		s.answers = append(s.answers, text...)
	}
}

// current returns the emulator that the agent draws on.
func (s *Screen) current() *vt.Emulator {
	if s.onAlt {
		return s.alt
	}
	return s.main
}
