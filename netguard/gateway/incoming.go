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
	// leastRate is how many bytes a second a body has to come at, after bodyPause.
	leastRate = 8 << 10
	// refusedPause is how long the rest of a refused request's body is waited for: a
	// client that is still sending would take a closed connection for a failure.
	refusedPause = 5 * time.Second
	// scriptedBody bounds a request to the built-in server, in bytes: it needs no more,
	// and runs in the supervisor's memory.
	scriptedBody = 4 << 20
	// stalled is how long a client may make others wait.
	stalled = time.Second
)

var errStalled = errors.New("the request stalled while others were waiting")

// incomingBodies bounds what the bodies that are still coming have sent, in bytes: so much
// may lie in memory and wait for the rest. When there is no more room, the one that
// has been coming longest makes some.
type incomingBodies struct {
	mu     sync.Mutex
	free   int64
	coming map[*incomingBody]int64 // how much of each has come
}

func newIncomingBodies(limit int64) *incomingBodies {
	return &incomingBodies{free: limit, coming: map[*incomingBody]int64{}}
}

// incomingBody is the body of a request on its way from the agent. Reading it is bounded
// in pauses and in time: a client that sends a byte a second is cut off, too.
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

// begin returns the arrival of a request's body. The caller releases it when the request
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

// Read reads on. It sees to the read deadline of the connection.
func (a *incomingBody) Read(p []byte) (int, error) {
	now := time.Now()
	deadline := a.begun.Add(bodyPause + time.Duration(a.got/leastRate)*time.Second)
	if next := now.Add(bodyPause); next.Before(deadline) {
		deadline = next
	}
	_ = a.control.SetReadDeadline(deadline) // a writer without deadlines has no slow clients
	if a.cut.Load() {                       // looked at after the deadline was set, since interrupt sets one, too
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

// complete notes that all has come.
func (a *incomingBody) complete() {
	_ = a.control.SetReadDeadline(time.Time{}) // else it would end the answer
	completed(a.ctx)
	a.release()
}

// Close closes the body.
func (a *incomingBody) Close() error { return a.source.Close() }

// interrupt ends a Read that is under way, and all later ones.
func (a *incomingBody) interrupt() {
	a.cut.Store(true)
	_ = a.control.SetReadDeadline(time.Unix(1, 0))
}

// release gives back what arrival has of the room.
func (a *incomingBody) release() {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	a.all.free += a.all.coming[a]
	delete(a.all.coming, a)
}

// take gives arrival room for n more bytes, or reports that there is none.
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
		return false // it had to make room itself
	}
	a.free -= n
	a.coming[incomingBody] += n
	return true
}

// oldest returns the incomplete body that has held memory longest, other than besides.
func (a *incomingBodies) oldest(besides *incomingBody) *incomingBody {
	var oldest *incomingBody
	for other, size := range a.coming {
		if other != besides && size > 0 && time.Since(other.begun) >= stalled && (oldest == nil || other.begun.Before(oldest.begun)) {
			oldest = other
		}
	}
	return oldest
}
