// Package terminal holds the terminal of an interactive session's agent and shows it to any
// number of attached clients. The agent's bytes go to a terminal emulator, and clients
// receive only repainted cells. A client never blocks the agent or another client.
package terminal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"aibox/internal/lifeline"
	"aibox/internal/screen"
	"aibox/internal/wake"
)

// frameTime is the shortest time between two paints for one viewer. Changes in between are
// painted together.
const frameTime = 8 * time.Millisecond

// heldTime is how long the agent may hold back a screen (synchronized output).
const heldTime = 150 * time.Millisecond

// Terminal is the terminal of an interactive session's agent with its viewers. The agent
// writes to it with or without viewers, and no viewer can block it. It has the size of the
// smallest viewer's terminal, and keeps its size when the last viewer leaves. All methods
// are safe for concurrent use. On a nil Terminal, as in headless sessions, they do nothing.
type Terminal struct {
	scrolled func(lines []byte) // see New

	mu      sync.Mutex
	screen  *screen.Screen
	viewers map[*viewer]bool
	line    Line   // nil until the agent runs
	answers []byte // the screen's answers that were not sent yet
	notices []byte // the last messages of aibox itself
	ended   bool
	called  bool // the agent has asked for attention since the user last typed
	// lastInput is when a viewer last typed.
	lastInput time.Time
	// lastWork limits the emulator's remaining work; 0 until the session begins to end.
	lastWork int64

	work    context.Context //nolint:containedctx // ends with the agent, which outlives every request
	cancel  context.CancelFunc
	answer  chan struct{} // there are answers
	resized chan struct{} // the size has changed since it was sent
	pumps   sync.WaitGroup
}

// Line is the other side of a terminal: the program that draws on it.
type Line interface {
	// Stdin sends input. It waits while the program does not read, until ctx ends.
	Stdin(ctx context.Context, p []byte) error
	Resize(rows, cols uint16) error
}

// New returns a terminal of a size. Feed passes the lines that scroll off the screen to scrolled,
// which is nil if no one needs them.
func New(size screen.Size, scrolled func(lines []byte)) *Terminal {
	t := &Terminal{
		scrolled: scrolled,
		screen:   screen.New(size),
		viewers:  map[*viewer]bool{},
		answer:   make(chan struct{}, 1),
		resized:  make(chan struct{}, 1),
	}
	if scrolled != nil {
		t.screen = screen.NewCatching(size)
	}
	t.work, t.cancel = context.WithCancel(context.Background())
	return t
}

// size returns the current size of the agent's terminal.
func (t *Terminal) size() screen.Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Size()
}

// Prepare changes an agent's start to one on this terminal. The user's variables come last
// and take precedence.
func (t *Terminal) Prepare(start *lifeline.Start) {
	if t == nil {
		return
	}
	size := t.size()
	start.TTY, start.Rows, start.Cols = true, uint16(size.Rows), uint16(size.Cols)
	start.Env = slices.DeleteFunc(start.Env, func(pair string) bool { return pair == "TERM=dumb" })
	start.Env = slices.Concat([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, start.Env)
}

// Connect starts to send the agent the answers of the screen and the input of viewers.
func (t *Terminal) Connect(line Line) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.line = line
	t.mu.Unlock()
	t.pumps.Go(t.pumpAnswers)
	t.pumps.Go(t.pumpSize)
	wake.Waiter(t.resized) // the size may have changed since the agent was started
}

// Limits of the emulator's work, in cells (see screen.Advance).
const (
	// feedSlice is the work for which the terminal is locked, so that no viewer waits for
	// more than about a millisecond.
	feedSlice = 100_000
	// lastFeed is the work for all output after the session begins to end. An agent that keeps
	// the emulator busy must not delay its own end.
	lastFeed = 5_000_000
)

// Feed processes output of the agent. It never waits for a viewer, and unlocks the terminal
// between small parts of the work. After ending is closed it does at most lastFeed of work and
// drops the rest, which is then only in the record.
//
// It passes on the lines that scroll off the screen after each of these parts: a few bytes can fill
// and scroll a whole screen, so together the lines of one call could take gigabytes.
func (t *Terminal) Feed(p []byte, ending <-chan struct{}) {
	if t == nil {
		return
	}
	for len(p) > 0 && t.mayWork(ending) {
		n, gone := t.feedSome(p)
		if p = p[n:]; len(gone) > 0 {
			t.scrolled(gone)
		}
	}
}

// mayWork reports whether the emulator may continue.
func (t *Terminal) mayWork(ending <-chan struct{}) bool {
	select {
	case <-ending:
	default:
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lastWork == 0 {
		t.lastWork = t.screen.Work() + lastFeed
	}
	return t.screen.Work() < t.lastWork
}

// feedSome processes the beginning of p. It returns its length and the lines that scrolled
// off.
func (t *Terminal) feedSome(p []byte) (n int, scrolled []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = t.screen.Advance(p, feedSlice)
	for _, what := range t.screen.Faults() {
		fmt.Fprintln(os.Stderr, "the screen was cleared, since it failed:", what)
	}
	if answers := t.screen.Answers(); len(t.answers)+len(answers) <= maxAnswers {
		t.answers = append(t.answers, answers...)
		wake.Waiter(t.answer)
	}
	t.called = t.screen.Rang() || t.called
	for v := range t.viewers {
		wake.Waiter(v.changed)
	}
	return n, t.screen.Scrolled()
}

// ShowNotice shows a message of aibox itself to every viewer.
func (t *Terminal) ShowNotice(text string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = []byte(text)
	for v := range t.viewers {
		wake.Waiter(v.changed)
	}
}

// maxAnswers limits the answers for an agent that sends queries and does not read.
const maxAnswers = 16 << 10

// pumpAnswers sends the screen's answers to the agent.
func (t *Terminal) pumpAnswers() {
	for {
		select {
		case <-t.work.Done():
			return
		case <-t.answer:
		}
		t.mu.Lock()
		answers := t.answers
		t.answers = nil
		t.mu.Unlock()
		if t.line.Stdin(t.work, answers) != nil {
			return
		}
	}
}

// pumpSize sends the terminal's size to the agent's kernel.
func (t *Terminal) pumpSize() {
	for {
		select {
		case <-t.work.Done():
			return
		case <-t.resized:
		}
		size := t.size()
		if t.line.Resize(uint16(size.Rows), uint16(size.Cols)) != nil {
			return
		}
	}
}

// Text returns the screen as text with colors.
func (t *Terminal) Text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(screen.TrueColors, false)
}

// Shown returns the screen as plain text, row by row, and whether the agent has asked for
// attention since the user last typed.
func (t *Terminal) Shown() (text string, called bool) {
	if t == nil {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Plain(), t.called
}

// HasViewers reports whether a client shows the terminal.
func (t *Terminal) HasViewers() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.viewers) > 0
}

// LastInput returns when the user last typed; zero for never.
func (t *Terminal) LastInput() time.Time {
	if t == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastInput
}

// finalText returns the text that stays on a viewer's terminal after the agent has ended.
func (t *Terminal) finalText(colors screen.Colors) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(colors, true)
}

// Close closes the terminal after the agent has ended: it sends the final screen to every
// viewer and disconnects them.
func (t *Terminal) Close() {
	if t == nil {
		return
	}
	t.cancel()
	t.mu.Lock()
	t.ended = true
	viewers := make([]*viewer, 0, len(t.viewers))
	for v := range t.viewers {
		viewers = append(viewers, v)
		wake.Waiter(v.changed)
	}
	t.mu.Unlock()
	// Do not wait for a viewer that does not read.
	late := time.AfterFunc(2*time.Second, func() {
		for _, v := range viewers {
			_ = v.conn.Close()
		}
	})
	defer late.Stop()
	for _, v := range viewers {
		<-v.gone
	}
}

// Wait waits for the goroutines that send to the agent. They end when the agent
// has ended and the lifeline is closed.
func (t *Terminal) Wait() {
	if t != nil {
		t.pumps.Wait()
	}
}

// join adds a viewer. It returns false if the agent has ended.
func (t *Terminal) join(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.viewers[v] = true
	t.fit()
	wake.Waiter(v.changed)
	return true
}

func (t *Terminal) leave(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.viewers, v)
	t.fit()
}

// fit gives the screen the size of the smallest viewer. t.mu is held.
func (t *Terminal) fit() {
	var least screen.Size
	for v := range t.viewers {
		if least.Rows == 0 || v.size.Rows < least.Rows {
			least.Rows = v.size.Rows
		}
		if least.Cols == 0 || v.size.Cols < least.Cols {
			least.Cols = v.size.Cols
		}
	}
	if len(t.viewers) == 0 || least == t.screen.Size() {
		return
	}
	t.screen.Resize(least)
	wake.Waiter(t.resized)
	for v := range t.viewers {
		wake.Waiter(v.changed)
	}
}
