package forward

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// body is the body of a request. net/http sends no answer, and the transport reports no error, while
// a Read waits. So a body ends with its request, and once the program has answered or closed the
// connection, it can pause only for a limited time.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration // 0: no limit

	mu      sync.Mutex // for the deadline and the fields below
	limited bool
	ended   bool // nothing changes the deadline any more
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.setDeadline()
	b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

// limit limits each further pause, also that of a Read that waits.
func (b *body) limit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limited = true
	b.setDeadline()
}

// setDeadline begins a pause. It needs mu.
func (b *body) setDeadline() {
	if b.limited && !b.ended && b.stall > 0 {
		_ = b.control.SetReadDeadline(time.Now().Add(b.stall))
	}
}

// cut ends the Read that waits, and each further one.
func (b *body) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Unix(1, 0))
	}
}

// leave leaves the deadline to others.
func (b *body) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}
