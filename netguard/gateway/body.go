package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	bodyPause = 60 * time.Second // how long a client may pause while it sends its body
	bodyFirst = 16 << 10         // initial bytes of memory for a body
)

// errGone is the error of a client that hung up.
var errGone = errors.New("the agent gave up")

// readBody reads a whole body into memory that it takes from the session's share. The
// caller releases cap(body) bytes, also after an error. It returns errGone, or the reason
// why the request is refused.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (body []byte, refusal *problem, err error) {
	source := http.MaxBytesReader(w, r.Body, g.maxBody)
	for {
		if len(body) == cap(body) {
			more, ok := g.grow(body, r.ContentLength)
			if !ok {
				_, _ = io.Copy(io.Discard, source) // a client that still writes would see its connection reset, not the answer
				return body, memoryFull(), nil
			}
			body = more
		}
		n, err := source.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var timeout net.Error
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return body, nil, nil
		case isTooLarge(err):
			return body, g.tooLarge(), nil
		case errors.Is(err, errStalled):
			return body, &problem{status: http.StatusTooManyRequests, message: errStalled.Error()}, nil
		case errors.As(err, &timeout) && timeout.Timeout():
			return body, &problem{status: http.StatusRequestTimeout, message: "the request's body did not come in time"}, nil
		case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*net.OpError)):
			return body, nil, errGone
		default: // such as a chunk without a length
			return body, &problem{status: http.StatusBadRequest, message: "the request's body is not valid HTTP"}, nil
		}
	}
}

func memoryFull() *problem {
	return &problem{status: http.StatusTooManyRequests, message: fmt.Sprintf("the session's requests hold more than %d MiB at a time", heldLimit>>20)}
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

func (g *Gateway) tooLarge() *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the request is larger than %d MiB", g.maxBody>>20)}
}

// grow doubles the memory of body. If its length is known, the memory grows faster, so that less
// is copied, and never beyond the length. A client that declares a length and sends little holds
// little.
func (g *Gateway) grow(body []byte, length int64) ([]byte, bool) {
	size := max(2*int64(cap(body)), bodyFirst)
	if length >= int64(cap(body)) {
		size = min(2*size, length+1) // one more, to see its end
	}
	size = min(size, g.maxBody+1)
	if !g.ledger.reserve(size - int64(cap(body))) {
		return body, false
	}
	more := make([]byte, len(body), size)
	copy(more, body)
	return more, true
}

// outgoingBody is a filtered body on its way upstream. It may be read several times, as
// long as the request may have to be sent again. After that it frees its memory once no
// reader is left, long before the answer ends. A nil outgoingBody has no memory.
type outgoingBody struct {
	mu      sync.Mutex
	pieces  [][]byte
	readers int
	done    func()    // nil after release
	free    bool      // no new reader may open it
	read    time.Time // when the last reader had read all of it; zero before that
}

// open returns the body from its beginning.
func (b *outgoingBody) open() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free {
		return nil, errGone
	}
	b.readers++
	b.read = time.Time{}
	return &bodyReader{body: b, rest: slices.Clone(b.pieces)}, nil
}

// readFor returns how long ago the whole body was read, to be sent; false if it was not.
func (b *outgoingBody) readFor() (time.Duration, bool) {
	if b == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.read), !b.read.IsZero()
}

// release frees the memory as soon as no reader needs it.
func (b *outgoingBody) release() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = true
	b.drop()
}

func (b *outgoingBody) drop() {
	if b.free && b.readers == 0 && b.done != nil {
		b.done()
		b.pieces, b.done = nil, nil
	}
}

// bodyReader reads an outgoingBody once. The transport may close it in a goroutine that
// outlives the answer.
type bodyReader struct {
	body *outgoingBody
	mu   sync.Mutex
	rest net.Buffers
	done bool
}

func (r *bodyReader) Read(into []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.rest.Read(into)
	if n > 0 && len(r.rest) == 0 { // before any of the last bytes is sent
		r.body.mu.Lock()
		r.body.read = time.Now()
		r.body.mu.Unlock()
	}
	if err != nil {
		r.end()
	}
	return n, err
}

func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	return nil
}

func (r *bodyReader) end() {
	r.rest = nil
	if r.done {
		return
	}
	r.done = true
	r.body.mu.Lock()
	defer r.body.mu.Unlock()
	r.body.readers--
	r.body.drop()
}
