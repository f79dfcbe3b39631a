package egress

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// requestBody reads the client's body. If the client waits for "100 Continue", the first
// Read sends it.
type requestBody struct {
	exchange *exchange
	body     io.ReadCloser
	trailer  http.Header // to forward, with the names that the client has declared
	expects  bool

	reading  sync.Mutex // held while the transport reads
	complete atomic.Bool

	deadline sync.Mutex
	stopped  bool // belongs to deadline
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if !b.extend() {
		return 0, net.ErrClosed
	}
	s := b.exchange.stream
	if b.expects {
		b.expects = false
		_ = s.conn.SetWriteDeadline(time.Now().Add(b.exchange.proxy.limits.Header))
		if _, err := io.WriteString(s.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return 0, err
		}
	}
	n, err := b.body.Read(p)
	b.exchange.flow.up.Add(int64(n))
	if errors.Is(err, io.EOF) {
		for name := range b.trailer {
			b.trailer[name] = b.exchange.request.Trailer[name]
		}
		b.exchange.watch.begin() // before stop can return
		b.complete.Store(true)
	}
	return n, err
}

// extend sets the deadline of the next read. It returns false after stop.
func (b *requestBody) extend() bool {
	b.deadline.Lock()
	defer b.deadline.Unlock()
	if !b.stopped {
		_ = b.exchange.stream.conn.SetReadDeadline(time.Now().Add(b.exchange.proxy.limits.Idle))
	}
	return !b.stopped
}

// stop ends the current read and every later one, so that the stream can be used again. It
// reports whether the body was read to its end, which is always so for a nil body.
func (b *requestBody) stop() (complete bool) {
	if b == nil || b.complete.Load() { // the deadline is that of the client's watch
		return true
	}
	b.deadline.Lock()
	b.stopped = true
	_ = b.exchange.stream.conn.SetReadDeadline(time.Unix(1, 0))
	b.deadline.Unlock()
	b.reading.Lock()
	defer b.reading.Unlock()
	return b.complete.Load()
}

// Close does nothing: if the body was not read to its end, the connection is closed after
// the response.
func (b *requestBody) Close() error { return nil }
