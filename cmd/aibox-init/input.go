package main

import (
	"fmt"
	"os"
	"sync"

	"aibox/internal/lifeline"
)

// maxQueued is more than the window of the lifeline: a supervisor that sends
// beyond it breaks the protocol.
const maxQueued = 1 << 20

// smallInput is the size in bytes below which an input's memory is not kept for the next one.
const smallInput = 32 << 10

// endOfInput ends the input of a program on a terminal (Control-D).
const endOfInput = 4

// input queues the supervisor's bytes until a program reads them, so that reading the
// lifeline never waits for it.
type input struct {
	acknowledge func(n int) // reports to the supervisor that the program has taken n bytes

	mu     sync.Mutex
	wake   sync.Cond
	queue  []byte
	spare  []byte // memory of written bytes, to be used by the queue again; nil while it is being written
	ended  bool   // the input is over: further input is dropped
	closed bool   // the program is gone: further input is dropped
}

// newInput returns an input. Its acknowledge ignores errors: reading from a broken lifeline
// fails, too.
func newInput(acknowledge func(n int) error) *input {
	in := &input{acknowledge: func(n int) { _ = acknowledge(n) }}
	in.wake.L = &in.mu
	return in
}

func (in *input) add(p []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue)+len(p) > maxQueued {
		return fmt.Errorf("%w: more input than its window allows", lifeline.ErrProtocol)
	}
	// One client can end the input of a program to which another one still sends.
	if in.closed || in.ended {
		go in.acknowledge(len(p))
		return nil
	}
	in.queue = append(in.queue, p...)
	in.wake.Broadcast()
	return nil
}

func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.wake.Broadcast()
}

// close drops the rest, which ends the goroutine of connect.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.wake.Broadcast()
}

// connect starts writing to the program; nil means that it takes no input.
func (in *input) connect(to *os.File, tty bool) {
	if to == nil {
		in.drop()
		return
	}
	go in.copyTo(to, tty)
}

func (in *input) copyTo(to *os.File, tty bool) {
	for {
		p := in.next()
		if p == nil {
			break
		}
		if _, err := to.Write(p); err != nil {
			in.drop()
			break
		}
		in.acknowledge(len(p))
		in.reuse(p)
	}
	if tty {
		// The master stays open for the output, so a character marks the end of input.
		_, _ = to.Write([]byte{endOfInput})
		return
	}
	_ = to.Close()
}

// next waits for bytes. It returns nil at the end.
func (in *input) next() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.ended && !in.closed {
		in.wake.Wait()
	}
	if in.closed || len(in.queue) == 0 {
		return nil
	}
	p := in.queue
	in.queue, in.spare = in.spare[:0], nil
	return p
}

// reuse keeps the memory of written bytes for the next ones, unless it is small.
func (in *input) reuse(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if cap(p) >= smallInput && !in.closed {
		in.spare = p[:0]
	}
}

// drop discards the input and acknowledges it to the supervisor.
func (in *input) drop() {
	in.mu.Lock()
	in.closed = true
	n := len(in.queue)
	in.queue = nil
	in.mu.Unlock()
	if n > 0 {
		in.acknowledge(n)
	}
}
