package pipe

import (
	"errors"
	"io"
	"sync"
)

const (
	// chunkSize is the maximum number of bytes that one read or write passes on.
	chunkSize = 256 << 10
	// maxChunks is the number of chunks that a pipe holds.
	maxChunks = 3
)

// Buffered is a pipe like that of io.Pipe, but a write does not wait for its reader until
// three chunks are full: a goroutine that waits for each piece costs much under gVisor and
// on a busy machine. One goroutine may read while another one writes.
type Buffered struct {
	mu      sync.Mutex
	changed sync.Cond
	chunks  [][]byte // oldest first
	at      int      // bytes of the first chunk that were read
	spare   [][]byte // memory of chunks that were read
	taken   int      // chunks that ReadFrom fills: 0 or 1

	writeErr error // the writer's end, after all chunks; nil while it writes
	readErr  error // the reader's end; nil while it reads
}

// NewBuffered returns an empty pipe. Its memory grows with what is written.
func NewBuffered() *Buffered {
	b := &Buffered{}
	b.changed.L = &b.mu
	return b
}

// Read implements io.Reader. After the last byte it returns the error of CloseWrite.
func (b *Buffered) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.chunks) == 0 && b.writeErr == nil && b.readErr == nil {
		b.changed.Wait()
	}
	switch {
	case b.readErr != nil:
		return 0, io.ErrClosedPipe
	case len(b.chunks) == 0:
		return 0, b.writeErr
	}
	n := copy(p, b.chunks[0][b.at:])
	if b.at += n; b.at == len(b.chunks[0]) {
		b.spare = append(b.spare, b.chunks[0][:0])
		b.chunks, b.at = b.chunks[1:], 0
		b.changed.Broadcast()
	}
	return n, nil
}

// Write implements io.Writer. It copies p.
func (b *Buffered) Write(p []byte) (written int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(p) > 0 {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == chunkSize {
			chunk, err := b.take()
			if err != nil {
				return written, err
			}
			b.chunks = append(b.chunks, chunk)
			last = len(b.chunks) - 1
		} else if err := b.writable(); err != nil {
			return written, err
		}
		part := p[:min(len(p), chunkSize-len(b.chunks[last]))]
		b.chunks[last] = append(b.chunks[last], part...)
		p, written = p[len(part):], written+len(part)
		b.changed.Broadcast()
	}
	return written, nil
}

// ReadFrom writes all that in has. It implements io.ReaderFrom.
func (b *Buffered) ReadFrom(in io.Reader) (total int64, err error) {
	for {
		b.mu.Lock()
		chunk, err := b.take()
		b.taken = 1
		b.mu.Unlock()
		if err != nil {
			return total, err
		}
		if cap(chunk) < chunkSize {
			chunk = make([]byte, 0, chunkSize)
		}
		n, err := in.Read(chunk[:chunkSize])
		b.mu.Lock()
		if b.taken = 0; n > 0 {
			b.chunks = append(b.chunks, chunk[:n])
			b.changed.Broadcast()
		} else {
			b.spare = append(b.spare, chunk)
		}
		b.mu.Unlock()
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// take waits for room for a chunk and returns its memory, which is empty. b.mu is held.
func (b *Buffered) take() ([]byte, error) {
	for len(b.chunks)+b.taken >= maxChunks && b.writable() == nil {
		b.changed.Wait()
	}
	if err := b.writable(); err != nil {
		return nil, err
	}
	n := len(b.spare)
	if n == 0 {
		return nil, nil
	}
	chunk := b.spare[n-1]
	b.spare = b.spare[:n-1]
	return chunk, nil
}

// writable returns an error if nothing can be written any more. b.mu is held.
func (b *Buffered) writable() error {
	switch {
	case b.readErr != nil:
		return b.readErr
	case b.writeErr != nil:
		return io.ErrClosedPipe
	}
	return nil
}

// CloseWrite ends the data: after it, Read returns err; nil means io.EOF. Only the first
// call counts.
func (b *Buffered) CloseWrite(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	if b.writeErr == nil {
		b.writeErr = err
	}
	b.changed.Broadcast()
}

// CloseRead makes writes fail with err; nil means io.ErrClosedPipe. Reads fail, too. Only
// the first call counts.
func (b *Buffered) CloseRead(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = io.ErrClosedPipe
	}
	if b.readErr == nil {
		b.readErr = err
	}
	b.changed.Broadcast()
}
