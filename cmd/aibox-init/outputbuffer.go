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
	begin  time.Time // of the window
	amount int       // that was read in it
	size   int       // of the last read
}

// next returns the buffer for the next read.
func (b *outputBuffer) next() []byte {
	switch {
	case b.bytes == nil:
		b.bytes = make([]byte, smallOutput)
	case b.size == len(b.bytes) && b.size < largeOutput:
		b.bytes = make([]byte, largeOutput)
	}
	return b.bytes
}

// read counts n bytes that were read, and returns them.
func (b *outputBuffer) read(n int) []byte {
	b.size = n
	b.amount += n
	return b.bytes[:n]
}

// pause waits before the next read, if the program prints much in small pieces: they gather
// in its pipe. It does not delay the first output after a while.
func (b *outputBuffer) pause() {
	now := time.Now()
	if now.Sub(b.begin) > gatherWindow {
		b.begin, b.amount = now, b.size
		return
	}
	if b.amount >= gatherSize && b.size < len(b.bytes)/2 {
		time.Sleep(gatherTime)
	}
}
