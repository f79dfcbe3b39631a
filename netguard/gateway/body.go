package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	bodyPause = 60 * time.Second // how long a client may pause while it sends its body
	bodyFirst = 16 << 10         // bytes of memory that a body begins with
)

// errGone is the error of a client that hung up.
var errGone = errors.New("the agent gave up")

// readBody reads a whole body into memory that it takes from the session's share.
// The caller releases cap(body) bytes, also after an error. It reports errGone, or
// why the request is refused.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (body []byte, refusal *problem, err error) {
	source := http.MaxBytesReader(w, r.Body, g.maxBody)
	for {
		if len(body) == cap(body) {
			more, ok := g.grow(body, r.ContentLength)
			if !ok {
				_, _ = io.Copy(io.Discard, source) // a client that still writes would see its connection reset, not the answer
				return body, &problem{status: http.StatusTooManyRequests, message: fmt.Sprintf("the session's requests hold more than %d MiB at a time", heldLimit>>20)}, nil
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
		default:
			return body, nil, errGone
		}
	}
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

func (g *Gateway) tooLarge() *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the request is larger than %d MiB", g.maxBody>>20)}
}

// grow gives body twice its memory, or as much as it will need when its length is
// known and near.
func (g *Gateway) grow(body []byte, length int64) ([]byte, bool) {
	size := max(2*int64(cap(body)), bodyFirst)
	if length >= int64(cap(body)) {
		size = min(size, length+1) // one more, to see its end
	}
	size = min(size, g.maxBody+1)
	if !g.ledger.reserve(size - int64(cap(body))) {
		return body, false
	}
	more := make([]byte, len(body), size)
	copy(more, body)
	return more, true
}

// outgoingBody is a filtered body on its way upstream. The transport may close it in a
// goroutine that outlives the answer. It lets go of its memory when it has been read,
// long before the answer ends.
type outgoingBody struct {
	mu   sync.Mutex
	rest net.Buffers
	done func()
}

func (p *outgoingBody) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.rest.Read(into)
	if err != nil {
		p.drop()
	}
	return n, err
}

func (p *outgoingBody) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
	return nil
}

func (p *outgoingBody) drop() {
	p.rest = nil
	if p.done != nil {
		p.done()
		p.done = nil
	}
}
