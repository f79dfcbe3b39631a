package main

import "time"

const (
	smallOutput = 32 << 10
	largeOutput = 256 << 10
	// gatherTime is how long much output is gathered before the next read. Under gVisor the
	// wait of a reader for each small piece takes more time than to copy it.
	gatherTime = time.Millisecond
	// gatherSize is how much output within gatherWindow counts as much.
	gatherSize   = 128 << 10
	gatherWindow = 10 * time.Millisecond
)

// outputBuffer is the buffer for reading one output. It grows with what it gets.
type outputBuffer struct {
	bytes  []byte
	size   int           // of the last read
	asked  time.Time     // when it began
	waited time.Duration // that it took

	begin  time.Time // of the window
	amount int       // that was read in it
	much   bool      // was read in the window before
}

// next returns the buffer for the next read.
func (b *outputBuffer) next() []byte {
	switch {
	case b.bytes == nil:
		b.bytes = make([]byte, smallOutput)
	case b.size == len(b.bytes) && b.size < largeOutput:
		b.bytes = make([]byte, largeOutput)
	}
	b.asked = time.Now()
	return b.bytes
}

// read counts n bytes that were read, and returns them.
func (b *outputBuffer) read(n int) []byte {
	b.size, b.waited = n, time.Since(b.asked)
	b.amount += n
	return b.bytes[:n]
}

// pause waits before the next read, if the program prints much: what it prints gathers in its
// pipe. It does not delay the first output after a while. A full buffer needs no gathering.
func (b *outputBuffer) pause() {
	now := time.Now()
	if elapsed := now.Sub(b.begin); elapsed > gatherWindow || b.waited > gatherWindow {
		// Much output stays much output in the next window. On a busy machine a window is over
		// after a few pieces.
		b.much = b.waited <= gatherWindow && b.amount >= gatherSize
		b.begin, b.amount = now, b.size
	}
	if (b.much || b.amount >= gatherSize) && b.size < len(b.bytes) {
		time.Sleep(gatherTime)
	}
}
