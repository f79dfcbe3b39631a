package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastRate is the minimum rate of a body in bytes a second, after bodyPause.
	leastRate = 8 << 10
	// refusedPause is how long the rest of a refused request's body is waited for: a client
	// that is still sending would report a closed connection as a failure.
	refusedPause = 5 * time.Second
	// scriptedBody bounds a request to the built-in server, in bytes: it needs no more,
	// and runs in the supervisor's memory.
	scriptedBody = 4 << 20
	// stalled is how long a client may delay others.
	stalled = time.Second
)

var errStalled = errors.New("the request stalled while others were waiting")

// incomingBodies bounds the memory of incomplete bodies, in bytes. If it is full, the body
// that has been arriving longest is dropped.
type incomingBodies struct {
	mu     sync.Mutex
	free   int64
	coming map[*incomingBody]int64 // how much of each has arrived
}

func newIncomingBodies(limit int64) *incomingBodies {
	return &incomingBodies{free: limit, coming: map[*incomingBody]int64{}}
}

// incomingBody is the body of a request from the agent. Reading it is bounded in pauses and
// in time: a client that sends a byte a second is cut off, too.
type incomingBody struct {
	all     *incomingBodies
	ctx     context.Context // of the request, which the body belongs to
	source  io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	got     int64
	cut     atomic.Bool
	slot    *slot // nil until the request has one
}

// begin registers the arrival of a request's body. The caller releases it when the request
// has ended.
func (a *incomingBodies) begin(r *http.Request, w http.ResponseWriter) *incomingBody {
	incomingBody := &incomingBody{all: a, ctx: r.Context(), source: r.Body, control: http.NewResponseController(w), begun: time.Now()}
	if r.Body == nil || r.Body == http.NoBody {
		incomingBody.source = http.NoBody
		incomingBody.complete()
		return incomingBody
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.coming[incomingBody] = 0
	return incomingBody
}

// Read reads the next bytes, and sets the connection's read deadline.
func (a *incomingBody) Read(p []byte) (int, error) {
	now := time.Now()
	deadline := a.begun.Add(bodyPause + time.Duration(a.got/leastRate)*time.Second)
	if next := now.Add(bodyPause); next.Before(deadline) {
		deadline = next
	}
	_ = a.control.SetReadDeadline(deadline) // a writer without deadlines has no slow clients
	if a.cut.Load() {                       // checked after the deadline was set, since interrupt sets one, too
		return 0, errStalled
	}
	a.slot.waiting(now)
	n, err := a.source.Read(p)
	a.slot.working()
	a.got += int64(n)
	if errors.Is(err, io.EOF) {
		a.complete()
	} else if n > 0 && !a.all.take(a, int64(n)) {
		return n, errStalled
	}
	return n, err
}

// complete records that the whole body has arrived.
func (a *incomingBody) complete() {
	_ = a.control.SetReadDeadline(time.Time{}) // otherwise it would end the answer
	completed(a.ctx)
	a.release()
}

// Close closes the body.
func (a *incomingBody) Close() error { return a.source.Close() }

// interrupt ends the current Read and all later ones.
func (a *incomingBody) interrupt() {
	a.cut.Store(true)
	_ = a.control.SetReadDeadline(time.Unix(1, 0))
}

// release frees the memory of arrival.
func (a *incomingBody) release() {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	a.all.free += a.all.coming[a]
	delete(a.all.coming, a)
}

// take reserves n more bytes for arrival, or reports that there is no space.
func (a *incomingBodies) take(incomingBody *incomingBody, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.free < n {
		oldest := a.oldest(incomingBody)
		if oldest == nil {
			return false
		}
		a.free += a.coming[oldest]
		delete(a.coming, oldest)
		oldest.interrupt()
	}
	if _, ok := a.coming[incomingBody]; !ok {
		return false // it was dropped itself
	}
	a.free -= n
	a.coming[incomingBody] += n
	return true
}

// oldest returns the incomplete body that has held memory longest, except besides.
func (a *incomingBodies) oldest(besides *incomingBody) *incomingBody {
	var oldest *incomingBody
	for other, size := range a.coming {
		if other != besides && size > 0 && time.Since(other.begun) >= stalled && (oldest == nil || other.begun.Before(oldest.begun)) {
			oldest = other
		}
	}
	return oldest
}
