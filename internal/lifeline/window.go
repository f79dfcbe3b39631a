package lifeline

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// windowSize is how many bytes may be in transit to one reader, not yet acknowledged by it.
// It keeps a reader that never reads from blocking the frames after its data (stop, signal,
// resize, the data of others).
const windowSize = 256 << 10

// inputWindow is how many bytes of the input of a process may be in transit to it: two of the
// pieces that a supervisor sends at once, so that init does not wait for the second one.
const inputWindow = 2 * maxBatch

// OutputWindow is how many bytes of the output of a process may be in transit to the
// supervisor. It lets the process continue while a busy machine delays the supervisor.
const OutputWindow = 1 << 20

// window counts the bytes in transit to one reader. It is safe for concurrent use.
type window struct {
	size int

	mu       sync.Mutex
	inflight int
	room     chan struct{} // closed and replaced when inflight shrinks
	closed   chan struct{}
	once     sync.Once
}

func newWindow(size int) *window {
	return &window{size: size, room: make(chan struct{}), closed: make(chan struct{})}
}

// reserve waits for free space in the window and takes up to n bytes of it. It fails when
// the window or the connection is closed, or ctx ends.
func (w *window) reserve(ctx context.Context, connClosed <-chan struct{}, n int) (int, error) {
	for {
		w.mu.Lock()
		free, room := w.size-w.inflight, w.room
		if free > 0 {
			n = min(n, free)
			w.inflight += n
			w.mu.Unlock()
			return n, nil
		}
		w.mu.Unlock()
		select {
		case <-room:
		case <-w.closed:
			return 0, net.ErrClosed
		case <-connClosed:
			return 0, net.ErrClosed
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// release frees the space of n bytes that the reader has acknowledged.
func (w *window) release(n uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if uint64(n) > uint64(w.inflight) {
		return fmt.Errorf("%w: acknowledged %d bytes of %d", ErrProtocol, n, w.inflight)
	}
	w.inflight -= int(n)
	close(w.room)
	w.room = make(chan struct{})
	return nil
}

// free returns the free space in bytes.
func (w *window) free() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size - w.inflight
}

// close ends all waits for space.
func (w *window) close() { w.once.Do(func() { close(w.closed) }) }
