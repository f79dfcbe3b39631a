package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"aibox/netguard"
)

// stream is a connection on which HTTP requests arrive: from the sandbox to the proxy, or
// through a tunnel.
type stream struct {
	conn   net.Conn
	reader *bufio.Reader        // with maxHead bytes
	tunnel netguard.Destination // of the tunnel; the zero value for a connection to the proxy
	https  bool                 // the tunnel carried TLS, which was decrypted
	once   bool                 // the user allowed the tunnel once
	client *client              // nil for a tunnel
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHead) }}

// newStream returns a stream whose reader belongs to a pool. The caller calls release.
func newStream(conn net.Conn) *stream {
	reader, _ := readers.Get().(*bufio.Reader)
	reader.Reset(conn)
	return &stream{conn: conn, reader: reader}
}

// release returns the reader to its pool. The stream has none after that.
func (s *stream) release() {
	if s.reader != nil {
		s.reader.Reset(nil)
		readers.Put(s.reader)
		s.reader = nil
	}
}

// serveClient answers the requests of a connection from the sandbox.
func (p *Proxy) serveClient(ctx context.Context, c *client) {
	s := newStream(c.conn)
	defer s.release()
	s.client = c
	p.serveRequests(ctx, s)
	linger(c.conn)
}

// How long a client may send on after the last response: as long as it pauses for at most
// lingerPause, and lingerTime in all.
const (
	lingerPause = time.Second
	lingerTime  = 5 * time.Second
)

// linger lets the client read the last response even if it is still sending: closing a
// connection with unread bytes would reset it.
func linger(conn net.Conn) {
	if !closeWrite(conn) {
		return
	}
	for end := time.Now().Add(lingerTime); ; {
		now := time.Now()
		_ = conn.SetReadDeadline(now.Add(min(lingerPause, end.Sub(now))))
		if _, err := io.CopyN(io.Discard, conn, 32<<10); err != nil {
			return
		}
	}
}

// serveRequests answers the requests one after the other.
func (p *Proxy) serveRequests(ctx context.Context, s *stream) {
	for p.serveRequest(ctx, s) {
	}
}

// serveRequest answers the next request. It reports whether there can be another.
func (p *Proxy) serveRequest(ctx context.Context, s *stream) bool {
	raw, err := p.awaitHead(s)
	if err != nil {
		var problem *refusal
		if asRefusal(err, &problem) {
			p.refuse(s, head{}, s.tunnel, "", problem, false)
		}
		return false
	}
	h, problem := parseHead(raw)
	var to netguard.Destination
	if problem == nil {
		to, problem = parseTarget(h, s.tunnel, s.https)
	}
	if problem != nil {
		if to.Host.IsZero() {
			to = s.tunnel
		}
		p.refuse(s, h, to, "", problem, false)
		return false
	}
	size := len(raw)
	if h.method == http.MethodConnect { // parseHead has read all that counts
		_, _ = s.reader.Discard(size)
		return p.serveConnect(ctx, s, h, to)
	}
	request, err := http.ReadRequest(s.reader)
	if err != nil {
		p.refuse(s, h, to, "", malformed("bad-request", "the request cannot be read"), false)
		return false
	}
	return p.serveForward(ctx, s, h, to, request, int64(size))
}

// awaitHead waits for the head of the next request.
func (p *Proxy) awaitHead(s *stream) ([]byte, error) {
	p.setIdle(s.client, true)
	defer p.setIdle(s.client, false)
	_ = s.conn.SetReadDeadline(time.Now().Add(p.limits.KeepAlive))
	if _, err := s.reader.Peek(1); err != nil {
		return nil, err
	}
	if raw := bufferedHead(s.reader, 0); raw != nil {
		return raw, nil
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(p.limits.Header))
	raw, err := peekHead(s.reader)
	if isTimeout(err) {
		return nil, malformed("slow-head", "the head of the request was not complete after %v", p.limits.Header).withStatus(http.StatusRequestTimeout)
	}
	return raw, err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
