package cli

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
)

// steps prints the stages of a start: one line each, with a mark that turns while
// a stage runs on a terminal, and only finished lines elsewhere.
type steps struct {
	out  io.Writer
	term terminal

	mu      sync.Mutex
	running []string // names, oldest first
	begun   map[string]time.Time
	details map[string]string // of running stages
	stop    chan struct{}
	stopped chan struct{}
	frame   int
	drawn   bool
}

func newSteps(out io.Writer, term terminal) *steps {
	s := &steps{out: out, term: term, begun: map[string]time.Time{}, details: map[string]string{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	go s.animate()
	return s
}

// handle takes one report of the supervisor.
func (s *steps) handle(step session.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !step.Done {
		if !slices.Contains(s.running, step.Name) {
			s.running, s.begun[step.Name] = append(s.running, step.Name), time.Now()
		}
		s.details[step.Name] = termtext.Escape(step.Detail)
		s.draw()
		return
	}
	for i, name := range s.running {
		if name == step.Name {
			s.running = append(s.running[:i], s.running[i+1:]...)
			break
		}
	}
	s.erase()
	mark := s.term.good("✓")
	if step.Warning {
		mark = s.term.warn("!")
	}
	fmt.Fprintf(s.out, "%s %-10s %s %s\n", mark, step.Name, termtext.Escape(step.Detail), s.term.faint(amount.Took(step.Took)))
	s.draw()
}

// between prints something else, which ends its line, where no stage is shown.
func (s *steps) between(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	write()
	s.draw()
}

// close ends the animation and leaves a clean line.
func (s *steps) close() {
	close(s.stop)
	<-s.stopped
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.running = nil
}

func (s *steps) animate() {
	defer close(s.stopped)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.mu.Lock()
			s.frame++
			s.draw()
			s.mu.Unlock()
		}
	}
}

// draw shows the oldest running stage on the last line of a terminal.
func (s *steps) draw() {
	if !s.term.interactive || len(s.running) == 0 {
		return
	}
	name := s.running[0]
	mark := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}[s.frame%10]
	took := amount.Took(time.Since(s.begun[name]))
	room := s.term.width - len("⠋ 0123456789  ") - len(took)
	detail := firstLine(s.details[name], max(room, 1))
	if detail != "" {
		detail += " "
	}
	fmt.Fprintf(s.out, "\r\x1b[K%s %-10s %s%s", mark, name, detail, s.term.faint(took))
	s.drawn = true
}

func (s *steps) erase() {
	if s.drawn {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.drawn = false
	}
}
