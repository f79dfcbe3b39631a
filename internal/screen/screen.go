// Package screen is the terminal of an agent: it takes the agent's output, keeps the screen
// that a terminal would show, answers permitted queries, and paints the result on the
// terminals of users.
//
// It separates an agent from the user's terminal. The agent's own bytes are never passed
// on. Only cells, colors, the cursor and a short list of harmless modes are, written from
// the state of the screen. No title, clipboard, link, notification, image, palette or query
// reaches the user's terminal.
//
// charmbracelet/x/vt does the emulation. The rest is written here, because x/vt accepts any
// size and any number, keeps ten thousand lines, and answers as a real terminal with all
// features would: this package splits the input (internal/ctrlseq), passes on a list of
// known sequences with bounded numbers, counts the work and recovers from panics.
// Ultraviolet's renderer is not used, because it writes links, titles and cells of any
// content; Painter writes only checked cells.
package screen

import (
	"fmt"
	"math"

	"github.com/charmbracelet/x/vt"
)

// Size is the size of a terminal in characters.
type Size struct{ Rows, Cols int }

// The limits of a screen, so that an agent cannot use up memory.
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

	// There are two emulators, one for the main and one for the alternate screen, and each
	// uses only its main screen: x/vt keeps ten thousand lines that scrolled off its
	// alternate screen, which cannot be turned off.
	main, alt *vt.Emulator
	onAlt     bool

	// wrap is set if a wide character is in the last two columns, so that the next one
	// belongs on the next line. x/vt handles this only for narrow ones.
	wrap bool

	answers []byte
	faults  []string
	rang    bool

	work   int64 // of the emulator, in cells
	region bool  // the agent has set a scroll region since the last reset

	catching bool // lines that scroll off are kept for Scrolled
	scrolled []byte
}

// New makes an empty screen of this size, within bounds.
func New(size Size) *Screen {
	s := &Screen{size: size.Bound()}
	s.reset()
	return s
}

// reset resets everything to its initial state.
func (s *Screen) reset() {
	s.main, s.alt = emulator(s.size), emulator(s.size)
	if s.catching {
		s.main.SetScrollbackSize(caught)
	}
	s.modes, s.onAlt, s.wrap, s.region = powerOn(), false, false, false
}

func emulator(size Size) *vt.Emulator {
	e := vt.NewEmulator(size.Cols, size.Rows)
	e.SetScrollbackSize(1) // x/vt ignores 0
	return e
}

// Size returns the screen's size.
func (s *Screen) Size() Size { return s.size }

// Write takes bytes of the agent. It never fails: unknown input changes nothing.
func (s *Screen) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[s.Advance(rest, math.MaxInt32):]
	}
	return len(p), nil
}

// Resize changes the size, within bounds. As on any terminal, content that does not fit is
// lost, and agents draw again.
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

// guarded runs a step of the emulator. A panic clears the screen, but does not end the
// session.
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

// Rang reports whether the agent has notified the user since the last call, by the bell or
// by a desktop notification. Neither reaches the user's terminal.
func (s *Screen) Rang() bool {
	rang := s.rang
	s.rang = false
	return rang
}

// maxFaults is how many failures of the emulator are kept for Faults.
const maxFaults = 8

// Faults returns the failures of the emulator since the last call; nil if there were none.
// Each has cleared the screen.
func (s *Screen) Faults() []string {
	faults := s.faults
	s.faults = nil
	return faults
}

// maxAnswers bounds the answers that wait. An agent that sends queries without reading the
// answers gets no more.
const maxAnswers = 16 << 10

// Held reports whether the agent is in the middle of a change that should be shown in one
// step (synchronized output).
func (s *Screen) Held() bool { return s.modes.held }

// Answers returns the terminal's answers to the agent since the last call, which are input
// for the agent; nil if there were no queries.
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
