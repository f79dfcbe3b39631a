package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/probe"
)

const (
	// leftoverGrace is what processes get that outlive the agent.
	leftoverGrace = 300 * time.Millisecond
	// killLimit is how long init waits for killed processes to be gone.
	killLimit = 2 * time.Second
	maxGrace  = 10 * time.Minute
)

// box is the state of PID 1. The goroutine of serve reads the lifeline and never
// blocks on the agent or on writing, so that a stop always gets through.
type box struct {
	conn   *lifeline.Conn
	reaper *reaper
	input  *input

	answering atomic.Bool // a pong is being sent

	mu      sync.Mutex
	started bool
	agent   *agent // nil until it runs
	signals []unix.Signal
	resize  *lifeline.Resize
	stopped bool
	grace   time.Duration // of the stop
	done    bool          // the exit was sent
	code    int
}

func newBox(conn *lifeline.Conn, r *reaper) *box {
	return &box{conn: conn, reaper: r, input: newInput(conn)}
}

// serve says hello and obeys until the lifeline ends. After the exit was sent
// the supervisor closes the lifeline, and the box ends with the agent's code;
// before that its end is a loss, and everything is killed at once.
func (b *box) serve() int {
	if err := b.conn.SendMessage(lifeline.TypeHello, lifeline.Hello{Version: lifeline.Version, Kernel: kernel()}); err != nil {
		return exitLost
	}
	for {
		f, err := b.conn.Receive()
		if err == nil {
			err = b.obey(f)
		}
		if err != nil {
			break
		}
	}
	signalAll(unix.SIGKILL)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return b.code
	}
	if os.Getpid() != 1 {
		// Only the death of a PID 1 takes the rest with it.
		b.reaper.killAll(0, killLimit)
	}
	return exitLost
}

// obey handles one frame. An error ends the box.
func (b *box) obey(f lifeline.Frame) error {
	switch f.Type {
	case lifeline.TypeProbe:
		return with(f, func(plan probe.Plan) error {
			go b.probe(plan)
			return nil
		})
	case lifeline.TypeStart:
		return with(f, b.start)
	case lifeline.TypeStdin:
		return b.input.add(f.Payload)
	case lifeline.TypeStdinEOF:
		b.input.end()
		return nil
	case lifeline.TypeResize:
		return with(f, b.setSize)
	case lifeline.TypeSignal:
		return with(f, b.signal)
	case lifeline.TypeStop:
		return with(f, b.stop)
	case lifeline.TypePing:
		b.pong()
		return nil
	default:
		return fmt.Errorf("%w: frame %#x is init's own", lifeline.ErrProtocol, f.Type)
	}
}

func with[T any](f lifeline.Frame, do func(T) error) error {
	v, err := lifeline.Decode[T](f)
	if err != nil {
		return err
	}
	return do(v)
}

func (b *box) probe(plan probe.Plan) {
	probe.Run(context.Background(), plan, func(place int, result probe.Result) {
		b.send(lifeline.TypeProbeResult, lifeline.ProbeResult{Place: place, Result: result})
	})
}

// pong answers a ping. Sending may wait for a supervisor that is slow to read,
// for which serve must not; one answer under way is enough.
func (b *box) pong() {
	if !b.answering.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer b.answering.Store(false)
		_ = b.conn.Send(lifeline.Frame{Type: lifeline.TypePong})
	}()
}

// send sends a message; a broken lifeline is serve's affair.
func (b *box) send(t lifeline.Type, v any) {
	if err := b.conn.SendMessage(t, v); err != nil {
		_ = b.conn.Close()
	}
}

func (b *box) start(s lifeline.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return fmt.Errorf("%w: a second start", lifeline.ErrProtocol)
	}
	b.started = true
	if b.stopped {
		return nil
	}
	go b.runAgent(s)
	return nil
}

// runAgent is the agent's whole life.
func (b *box) runAgent(s lifeline.Start) {
	a, err := startAgent(b.reaper, s)
	if err != nil {
		code := 125
		if failed, ok := errors.AsType[startError](err); ok {
			code = failed.code
		}
		b.send(lifeline.TypeError, lifeline.Error{Text: err.Error()})
		b.exit(lifeline.Exit{Code: code})
		return
	}
	b.send(lifeline.TypeStarted, lifeline.Started{PID: a.pid})
	var copying sync.WaitGroup
	for _, s := range a.output {
		copying.Go(func() { b.copyOut(s) })
	}
	b.input.connect(a.input, a.pty != nil)
	b.adopt(a)
	exit := exitOf(<-a.status)
	if !b.reaper.collect() {
		exit.Left = true
		b.reaper.killAll(leftoverGrace, killLimit)
	}
	b.input.close()
	copying.Wait()
	exit.Commits = commits(b.reaper, s, b.commitLimit())
	b.exit(exit)
}

// commitLimit is how long listing the agent's commits may take.
func (b *box) commitLimit() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return stoppedTime
	}
	return commitTime
}

// adopt makes the running agent known and catches up on what was asked for in
// the meantime.
func (b *box) adopt(a *agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agent = a
	if b.resize != nil {
		a.resize(*b.resize)
	}
	for _, sig := range b.signals {
		_ = unix.Kill(-a.pid, sig)
	}
	b.signals = nil
	if b.stopped {
		go b.reaper.killAll(b.grace, killLimit)
	}
}

// copyOut sends an output until its last writer is gone. It blocks while the
// supervisor does not read, which in turn blocks the agent: nothing is lost.
func (b *box) copyOut(s stream) {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.file.Read(buf)
		if n > 0 {
			if b.conn.Send(lifeline.Frame{Type: s.kind, Payload: buf[:n]}) != nil {
				_ = b.conn.Close()
				return
			}
		}
		if err != nil {
			return // EOF, or EIO from a PTY without a slave
		}
	}
}

func (b *box) exit(e lifeline.Exit) {
	b.mu.Lock()
	b.done, b.code = true, e.Code
	b.mu.Unlock()
	b.send(lifeline.TypeExit, e)
}

func (b *box) setSize(size lifeline.Resize) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resize = &size
	if b.agent != nil {
		b.agent.resize(size)
	}
	return nil
}

func (b *box) signal(s lifeline.Signal) error {
	if s.Number < 1 || s.Number > 31 {
		return fmt.Errorf("%w: signal %d", lifeline.ErrProtocol, s.Number)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil {
		if len(b.signals) < 16 {
			b.signals = append(b.signals, unix.Signal(s.Number))
		}
		return nil
	}
	_ = unix.Kill(-b.agent.pid, unix.Signal(s.Number))
	return nil
}

// stop ends the tree in the background; runAgent sees the agent end and sends
// the exit. Without an agent there is nothing to wait for.
func (b *box) stop(s lifeline.Stop) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.grace = min(max(time.Duration(s.Grace)*time.Millisecond, 0), maxGrace)
	if !b.started {
		b.started = true
		go b.exit(lifeline.Exit{Code: 128 + int(unix.SIGTERM), Signal: int(unix.SIGTERM)})
		return nil
	}
	if b.agent != nil {
		go b.reaper.killAll(b.grace, killLimit)
	}
	return nil
}

func exitOf(status unix.WaitStatus) lifeline.Exit {
	if status.Signaled() {
		return lifeline.Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	return lifeline.Exit{Code: status.ExitStatus()}
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
}
