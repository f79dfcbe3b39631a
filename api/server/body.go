package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"aibox/api/budget"
)

// bodyReader ends a request whose body stops arriving, or is too large. Nothing is read once its
// handler has ended, as net/http demands, even if a goroutine of the handler still reads.
type bodyReader struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration
	until   time.Time // when it must have arrived; zero: no limit
	limit   int64     // bytes; 0: none
	// messages has what was read; nil if the handler keeps only pieces of it.
	messages *budget.Call
	// keepDeadline says that there is a deadline until the end of the body, also between reads:
	// before net/http sends an answer of HTTP/1, it reads the rest of a small body itself.
	keepDeadline bool

	reading sync.Mutex // held by Read
	read    int64
	failed  error // of a limit

	mu    sync.Mutex // for the deadline and the fields below
	ended bool
	atEnd bool
}

// restPause is how long the rest of a body may take to arrive after its handler has ended.
const restPause = 5 * time.Second

// newBodyReader returns the reader of a request's body. stall is the longest pause.
func newBodyReader(w http.ResponseWriter, r *http.Request, stall time.Duration) *bodyReader {
	b := &bodyReader{ReadCloser: r.Body, control: http.NewResponseController(w), stall: stall, keepDeadline: r.ProtoMajor == 1}
	if b.keepDeadline {
		b.setDeadline(time.Now().Add(stall))
	}
	return b
}

// errBodyEnded reports that the handler of the request has ended.
var errBodyEnded = errors.New("the request has ended")

func (b *bodyReader) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if b.limit > 0 && b.read >= b.limit {
		b.failed = &http.MaxBytesError{Limit: b.limit}
		return 0, b.failed
	}
	deadline := time.Now().Add(b.stall)
	if !b.until.IsZero() && b.until.Before(deadline) {
		deadline = b.until
	}
	if !b.setDeadline(deadline) {
		return 0, errBodyEnded
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	isEnded := b.endRead(errors.Is(err, io.EOF))
	if full := b.messages.Reserve(int64(n)); full != nil {
		b.failed = full
		return 0, full
	}
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return n, err
	case isEnded:
		return n, errBodyEnded
	}
	message := "nothing of the request arrived for %v, which is the limit"
	if !b.until.IsZero() {
		message = "the request did not arrive within %v, which is the limit"
	}
	b.failed = &failed{failTimeout, fmt.Sprintf(message, b.stall), nil}
	return n, b.failed
}

// setDeadline sets when reading fails, unless the body has ended.
func (b *bodyReader) setDeadline(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		_ = b.control.SetReadDeadline(at) // an HTTP server supports it
	}
	return !b.ended
}

// endRead removes the deadline of a read, and reports whether the body has ended meanwhile.
func (b *bodyReader) endRead(atEnd bool) (isEnded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.atEnd = b.atEnd || atEnd
	if !b.ended && (b.atEnd || !b.keepDeadline) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return b.ended
}

// Close ends the reading: connect calls it while a goroutine may still read.
func (b *bodyReader) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// end makes each Read fail from now on, and returns when none runs.
func (b *bodyReader) end() {
	if b.interrupt() {
		b.reading.Lock()
		defer b.reading.Unlock()
	}
}

// interrupt is end without the wait, and reports whether a Read runs that ends soon. Its
// connection is not used again: net/http closes one with a body that cannot be read to its end.
func (b *bodyReader) interrupt() (isReading bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.reading.TryLock() {
		b.reading.Unlock()
		if b.keepDeadline && !b.atEnd {
			_ = b.control.SetReadDeadline(time.Now().Add(min(b.stall, restPause)))
		}
		return false
	}
	// At the end of the body, net/http reads the connection for the next request.
	return b.atEnd || b.control.SetReadDeadline(time.Unix(1, 0)) == nil
}
