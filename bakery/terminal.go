package bakery

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// running is how many running steps a terminal shows at once.
const running = 6

// Terminal is a Progress for an interactive terminal: finished steps scroll up, the running
// ones stay below with their time and last line, updated in place. The terminal only needs
// to support cursor-up and erase-below.
type Terminal struct {
	mu     sync.Mutex
	w      io.Writer
	width  func() int
	now    func() time.Time
	active []*activeStep
	drawn  int // lines of the block that is on the screen now
	stop   chan struct{}
	done   chan struct{}
}

type activeStep struct {
	image, id, text, last string
	since                 time.Time
}

// TerminalProgress starts a Terminal on w. width returns the current number of columns.
// Close must be called.
func TerminalProgress(w io.Writer, width func() int) *Terminal {
	t := newTerminal(w, width, time.Now)
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.done)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-t.stop:
				tick.Stop()
				return
			case <-tick.C:
				t.refresh()
			}
		}
	}()
	return t
}

func newTerminal(w io.Writer, width func() int, now func() time.Time) *Terminal {
	return &Terminal{w: w, width: width, now: now}
}

// Close clears the running steps from the screen and stops the clock.
func (t *Terminal) Close() {
	if t.stop != nil {
		close(t.stop)
		<-t.done
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = nil
	t.draw(nil)
}

// Handle applies an event and redraws.
func (t *Terminal) Handle(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case StepStarted:
		t.active = append(t.active, &activeStep{image: e.Image, id: e.Step, text: e.Text, since: t.now()})
	case StepLine:
		for _, s := range t.active {
			if s.id == e.Step && e.Text != "" {
				s.last = e.Text
			}
		}
		return // shown at the next tick, so that a build with much output does not redraw for every line
	case StepDone, StepCached, StepFailed, StepSkipped:
		t.drop(func(s *activeStep) bool { return s.id == e.Step })
	case ImageDone, ImageFailed:
		t.drop(func(s *activeStep) bool { return s.image == e.Image })
	}
	stay := lines(e)
	if e.Kind == StepDone || e.Kind == StepCached {
		stay[0] = ansi.Truncate(stay[0], max(t.width(), 20), "…") // failures wrap and are shown whole
	}
	t.draw(stay)
}

func (t *Terminal) drop(gone func(*activeStep) bool) {
	kept := t.active[:0]
	for _, s := range t.active {
		if !gone(s) {
			kept = append(kept, s)
		}
	}
	t.active = kept
}

func (t *Terminal) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.active) > 0 {
		t.draw(nil)
	}
}

// draw replaces the block of running steps: first the lines that stay, then the
// block again, each on one row.
func (t *Terminal) draw(stay []string) {
	var out bytes.Buffer
	if t.drawn > 0 {
		out.WriteString(ansi.CursorUp(t.drawn))
		out.WriteString("\r" + ansi.EraseScreenBelow)
	}
	width := max(t.width(), 20)
	for _, line := range stay {
		out.WriteString(line + "\n")
	}
	shown := t.active[max(0, len(t.active)-running):]
	for _, s := range shown {
		line := s.image + ": " + pad(t.now().Sub(s.since)) + " " + s.text
		if s.last != "" {
			line = ansi.Truncate(line, width/2, "…") + "  " + s.last
		}
		out.WriteString(ansi.Truncate(line, width-1, "…") + "\n")
	}
	t.drawn = len(shown)
	_, _ = t.w.Write(out.Bytes())
}
