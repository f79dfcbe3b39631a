// Package terminal holds the terminal of an interactive session's agent and shows it to
// any number of attached clients. The agent's bytes go to a terminal emulator, and only
// repainted cells reach a client. A client never holds up the agent or another client.
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
)

// frameTime is the shortest time between two paints for one viewer: what changes
// meanwhile is painted once.
const frameTime = 8 * time.Millisecond

// heldTime is how long a screen may be held back at the agent's wish
// (synchronized output).
const heldTime = 150 * time.Millisecond

// Terminal is the terminal of an interactive session's agent with its viewers. The
// agent writes to it with or without viewers, and no viewer can hold it up. It has the size of the smallest terminal that shows it, and
// keeps its size when the last one goes. All methods are safe for concurrent use;
// those of a nil terminal, which is a headless session's, do nothing.
type Terminal struct {
	mu      sync.Mutex
	screen  *screen.Screen
	viewers map[*viewer]bool
	line    *lifeline.Conn // nil until the agent runs
	answers []byte         // of the screen, not sent yet
	notices []byte         // what aibox itself has said last
	ended   bool
	called  bool // the agent has called the user, who has not typed since
	// lastWork is where the emulator's work ends; 0 until the session is being ended.
	lastWork int64

	work    context.Context //nolint:containedctx // ends with the agent, which outlives every request
	cancel  context.CancelFunc
	answer  chan struct{} // there are answers
	resized chan struct{} // the size has changed
	pumps   sync.WaitGroup
}

func New(size screen.Size) *Terminal {
	t := &Terminal{
		screen:  screen.NewCatching(size),
		viewers: map[*viewer]bool{},
		answer:  make(chan struct{}, 1),
		resized: make(chan struct{}, 1),
	}
	t.work, t.cancel = context.WithCancel(context.Background())
	return t
}

// size is what the agent's terminal has now.
func (t *Terminal) size() screen.Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Size()
}

// Prepare makes an agent's start one on this terminal. The user's variables
// come last and win.
func (t *Terminal) Prepare(start *lifeline.Start) {
	if t == nil {
		return
	}
	size := t.size()
	start.TTY, start.Rows, start.Cols = true, uint16(size.Rows), uint16(size.Cols)
	start.Env = slices.DeleteFunc(start.Env, func(pair string) bool { return pair == "TERM=dumb" })
	start.Env = slices.Concat([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, start.Env)
}

// Connect begins to send the agent what comes from the screen and the viewers.
func (t *Terminal) Connect(line *lifeline.Conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.line = line
	t.mu.Unlock()
	t.pumps.Go(t.pumpAnswers)
	t.pumps.Go(t.pumpSize)
	wake(t.resized) // it may have changed since the agent was started
}

// What the emulator does in one go, in cells (see screen.Advance).
const (
	// feedSlice is for how much the terminal is held, so that no viewer waits for
	// more than about a millisecond.
	feedSlice = 100_000
	// lastFeed is for all that comes once the session is being ended. An agent that
	// keeps the emulator busy must not put off its own end.
	lastFeed = 5_000_000
)

// Feed takes output of the agent, and returns what scrolled off the screen thereby. It
// never waits for anybody, and lets others have the terminal between small parts of the
// work. Once ending is closed the screen shows no more than lastFeed has it do; the
// record has the rest.
func (t *Terminal) Feed(p []byte, ending <-chan struct{}) (scrolled []byte) {
	if t == nil {
		return nil
	}
	for len(p) > 0 && t.mayWork(ending) {
		n, gone := t.feedSome(p)
		p, scrolled = p[n:], append(scrolled, gone...)
	}
	return scrolled
}

// mayWork reports whether the emulator may work on.
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

// feedSome takes a slice of p, and returns how long it was and what scrolled off.
func (t *Terminal) feedSome(p []byte) (n int, scrolled []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = t.screen.Advance(p, feedSlice)
	for _, what := range t.screen.Faults() {
		fmt.Fprintln(os.Stderr, "the screen was cleared, since it failed:", what)
	}
	if answers := t.screen.Answers(); len(t.answers)+len(answers) <= maxAnswers {
		t.answers = append(t.answers, answers...)
		wake(t.answer)
	}
	t.called = t.screen.Rang() || t.called
	for v := range t.viewers {
		wake(v.changed)
	}
	return n, t.screen.Scrolled()
}

// ShowNotice shows every viewer something that is not from the agent.
func (t *Terminal) ShowNotice(text string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = []byte(text)
	for v := range t.viewers {
		wake(v.changed)
	}
}

// maxAnswers bounds what waits for an agent that asks and does not read.
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

// pumpSize sends the size to the agent's kernel.
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

// Text is what the screen shows.
func (t *Terminal) Text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(screen.TrueColors, false)
}

// Shown returns what the screen shows, as plain text row by row, and whether the agent has
// called the user since the user last typed.
func (t *Terminal) Shown() (text string, called bool) {
	if t == nil {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.screen.Text(screen.NoColors, false)), t.called
}

// left is what stays on a viewer's terminal when the agent has ended.
func (t *Terminal) left(colors screen.Colors) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(colors, true)
}

// Close says that the agent has ended: every viewer sees the end and is let go.
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
		wake(v.changed)
	}
	t.mu.Unlock()
	// One that does not read is not waited for.
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

// join adds a viewer; false means that the agent has ended.
func (t *Terminal) join(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.viewers[v] = true
	t.fit()
	wake(v.changed)
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
	wake(t.resized)
	for v := range t.viewers {
		wake(v.changed)
	}
}

// wake notifies the owner of a channel of length one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
