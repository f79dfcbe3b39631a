// Package boundedbuffer has a buffer with a maximum size.
package boundedbuffer

import "bytes"

// Buffer keeps up to a number of bytes. A write beyond it fails and keeps nothing of its data. The
// inner buffer is no embedded field, because its ReadFrom, which io.Copy prefers, has no limit.
type Buffer struct {
	max    int
	excess error
	kept   bytes.Buffer
	full   bool
}

// New returns an empty buffer for at most max bytes. A write beyond them fails with excess.
func New(max int, excess error) *Buffer { return &Buffer{max: max, excess: excess} }

// Write implements io.Writer.
func (b *Buffer) Write(data []byte) (int, error) {
	if b.kept.Len()+len(data) > b.max {
		b.full = true
		return 0, b.excess
	}
	return b.kept.Write(data)
}

// IsFull reports whether a write has failed.
func (b *Buffer) IsFull() bool { return b.full }

// Bytes returns what was written.
func (b *Buffer) Bytes() []byte { return b.kept.Bytes() }
