package session

import (
	"bytes"
	"context"
	"fmt"
	"net"
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

// heartbeat is how often a viewer is told that nothing happens, so that one that
// is gone is noticed.
const heartbeat = 5 * time.Second

// terminal is the terminal of an interactive session's agent, and the people who
// look at it. The agent writes to it whether anybody looks or not; nobody who
// looks can hold it up. It has the size of the smallest terminal that shows it, and
// keeps its size when the last one goes. All methods are safe for concurrent use;
// those of a nil terminal, which is a headless session's, do nothing.
type terminal struct {
	mu      sync.Mutex
	screen  *screen.Screen
	viewers map[*viewer]bool
	line    *lifeline.Conn // nil until the agent runs
	answers []byte         // of the screen, not sent yet
	notices []byte         // what aibox itself has said last
	ended   bool

	work    context.Context //nolint:containedctx // ends with the agent, who outlives every request
	cancel  context.CancelFunc
	answer  chan struct{} // there are answers
	resized chan struct{} // the size has changed
	pumps   sync.WaitGroup
}

func newTerminal(size screen.Size) *terminal {
	t := &terminal{
		screen:  screen.New(size),
		viewers: map[*viewer]bool{},
		answer:  make(chan struct{}, 1),
		resized: make(chan struct{}, 1),
	}
	t.work, t.cancel = context.WithCancel(context.Background())
	return t
}

// size is what the agent's terminal has now.
func (t *terminal) size() screen.Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Size()
}

// prepare makes an agent's start one on this terminal. The user's variables stand
// behind and win.
func (t *terminal) prepare(start *lifeline.Start) {
	if t == nil {
		return
	}
	size := t.size()
	start.TTY, start.Rows, start.Cols = true, uint16(size.Rows), uint16(size.Cols)
	start.Env = slices.DeleteFunc(start.Env, func(pair string) bool { return pair == "TERM=dumb" })
	start.Env = slices.Concat([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, start.Env)
}

// connect begins to send the agent what comes from the screen and the viewers.
func (t *terminal) connect(line *lifeline.Conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.line = line
	t.mu.Unlock()
	t.pumps.Go(t.pumpAnswers)
	t.pumps.Go(t.pumpSize)
	wake(t.resized) // it may have changed since the agent was told
}

// feed takes output of the agent. It never waits for anybody.
func (t *terminal) feed(p []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.screen.Write(p)
	for _, what := range t.screen.Faults() {
		fmt.Fprintln(os.Stderr, "the screen was cleared, since it failed:", what)
	}
	if answers := t.screen.Answers(); len(t.answers)+len(answers) <= maxAnswers {
		t.answers = append(t.answers, answers...)
		wake(t.answer)
	}
	for v := range t.viewers {
		wake(v.changed)
	}
}

// notice shows every viewer something that is not from the agent.
func (t *terminal) notice(text string) {
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
func (t *terminal) pumpAnswers() {
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

// pumpSize tells the agent's kernel the size.
func (t *terminal) pumpSize() {
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

// text is what the screen shows.
func (t *terminal) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(screen.TrueColors, false)
}

// left is what stays on a person's terminal when the agent has ended.
func (t *terminal) left(colors screen.Colors) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.Text(colors, true)
}

// finish says that the agent has ended: every viewer sees the end and is let go.
func (t *terminal) finish() {
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

// wait waits for the goroutines that send to the agent. They end when the agent
// has ended and the lifeline is closed.
func (t *terminal) wait() {
	if t != nil {
		t.pumps.Wait()
	}
}

// join adds a viewer; false means that the agent has ended.
func (t *terminal) join(v *viewer) bool {
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

func (t *terminal) leave(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.viewers, v)
	t.fit()
}

// fit gives the screen the size of the smallest viewer. t.mu is held.
func (t *terminal) fit() {
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

// viewer is one person's terminal.
type viewer struct {
	conn    net.Conn
	painter *screen.Painter
	size    screen.Size
	colors  screen.Colors
	told    []byte // the last notice
	changed chan struct{}
	gone    chan struct{} // closed when nothing is sent any more
}

// serve shows the terminal on conn, a connection that speaks attach frames, until
// either side ends it.
func (t *terminal) serve(conn net.Conn, in frameReader, size screen.Size, colors screen.Colors) {
	size = size.Bound()
	v := &viewer{
		conn: conn, painter: screen.NewPainter(size, colors), size: size, colors: colors,
		changed: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	defer conn.Close()
	if !t.join(v) {
		_ = writeFrame(conn, frameExit, t.left(colors))
		return
	}
	ctx, cancel := context.WithCancel(t.work)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		t.listen(ctx, v, in)
		cancel()
	}()
	t.show(ctx, v)
	close(v.gone)
	t.leave(v)
	cancel()
	_ = conn.Close()
	<-reading
}

// show paints until the agent has ended or the viewer has gone.
func (t *terminal) show(ctx context.Context, v *viewer) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			if t.work.Err() == nil {
				return // the viewer has gone
			}
		case <-v.changed:
		case <-beat.C:
			if writeFrame(v.conn, frameAlive, nil) != nil {
				return
			}
			continue
		}
		if t.paint(ctx, v) != nil {
			return
		}
		if t.work.Err() != nil && t.over() {
			_ = writeFrame(v.conn, frameExit, t.left(v.colors))
			return
		}
		pause(ctx, frameTime)
	}
}

// paint sends what has changed.
func (t *terminal) paint(ctx context.Context, v *viewer) error {
	t.mu.Lock()
	if t.screen.Held() && !t.ended {
		t.mu.Unlock()
		t.awaitWhole(ctx, v)
		t.mu.Lock()
	}
	out, full := v.painter.Paint(t.screen)
	notice := t.notices
	t.mu.Unlock()
	if !bytes.Equal(notice, v.told) {
		v.told = notice
		if err := writeFrame(v.conn, frameNotice, notice); err != nil {
			return err
		}
	}
	switch {
	case full:
		return writeFrame(v.conn, frameWhole, out)
	case len(out) > 0:
		return writeFrame(v.conn, framePaint, out)
	}
	return nil
}

// awaitWhole waits until the agent has finished the change that it holds back, or
// has had its time.
func (t *terminal) awaitWhole(ctx context.Context, v *viewer) {
	late := time.NewTimer(heldTime)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case <-v.changed:
		}
		t.mu.Lock()
		held := t.screen.Held()
		t.mu.Unlock()
		if !held {
			return
		}
	}
}

func (t *terminal) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// listen takes what a viewer sends until it has gone.
func (t *terminal) listen(ctx context.Context, v *viewer, in frameReader) {
	for {
		kind, payload, err := in.next()
		if err != nil {
			return
		}
		switch kind {
		case frameInput:
			t.mu.Lock()
			line := t.line
			t.mu.Unlock()
			if line != nil && line.Stdin(ctx, payload) != nil {
				return
			}
		case frameResize:
			size, err := parseSize(payload)
			if err != nil {
				return
			}
			t.mu.Lock()
			v.size = size
			v.painter.Resize(size)
			t.fit()
			t.mu.Unlock()
			wake(v.changed)
		default:
			return
		}
	}
}

// wake tells the owner of a channel of length one that there is something to do.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
