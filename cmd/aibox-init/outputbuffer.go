package main

import "time"

const (
	smallOutput = 32 << 10
	largeOutput = 256 << 10
	// gatherTime is how long to wait before the next read of a program that prints much.
	// Under gVisor, waiting for each small piece costs more time than copying it.
	gatherTime = time.Millisecond
	// gatherSize is how many bytes within gatherWindow count as much output.
	gatherSize   = 128 << 10
	gatherWindow = 10 * time.Millisecond
)

// outputBuffer is the buffer for reading one output. It grows with the size of the reads.
type outputBuffer struct {
	bytes  []byte
	size   int           // of the last read
	asked  time.Time     // when the read began
	waited time.Duration // how long the read took

	begin  time.Time // of the window
	amount int       // bytes read in the window
	much   bool      // whether much was read in the previous window
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

// pause returns how long to wait before the next read: gatherTime if the program prints much,
// so that output collects in its pipe. The first output after a break is not delayed, nor
// what follows a read that filled the buffer.
func (b *outputBuffer) pause() time.Duration {
	now := time.Now()
	if elapsed := now.Sub(b.begin); elapsed > gatherWindow || b.waited > gatherWindow {
		// If a window had much output, the next one counts as having much from its start. On a
		// busy machine a window has only a few pieces.
		b.much = b.waited <= gatherWindow && b.amount >= gatherSize
		b.begin, b.amount = now, b.size
	}
	if (b.much || b.amount >= gatherSize) && b.size < len(b.bytes) {
		return gatherTime
	}
	return 0
}
