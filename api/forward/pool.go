package forward

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/internal/halfclose"
	"aibox/session"
)

const (
	idleConnections = 8 // kept for each port
	idleTimeout     = 30 * time.Second
	maxHeader       = 64 << 10 // bytes of an answer's headers
)

// discard drops the proxy's log messages: sandboxes control them, and clients see errors in
// their answers.
var discard = log.New(io.Discard, "", 0)

// pool holds the connections to sandboxes. Connections are kept for the next request to the
// same port of the same sandbox, of the same tenant.
type pool struct {
	dialer    Dialer
	transport *http.Transport

	mu     sync.Mutex
	open   map[*pooledConn]struct{}
	closed bool
}

func newPool(dialer Dialer) *pool {
	p := &pool{dialer: dialer, open: map[*pooledConn]struct{}{}}
	p.transport = &http.Transport{
		DialContext: p.dial, DisableCompression: true, MaxIdleConnsPerHost: idleConnections, MaxIdleConns: 1024,
		IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeader,
	}
	return p
}

// address names the port in the pool. It includes the tenant, since a kept connection is
// used without dialing, which would check the tenant.
func (h *hop) address() string {
	return h.target.sandbox + "." + hex.EncodeToString([]byte(h.caller.Tenant)) + ":" + strconv.Itoa(int(h.target.port))
}

// errAddress reports an address that did not come from hop.address.
var errAddress = errors.New("the address is not a port of a sandbox")

// dial connects to an address from hop.address.
func (p *pool) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errAddress
	}
	sandbox, encoded, ok := strings.Cut(host, ".")
	tenant, err := hex.DecodeString(encoded)
	number := parsePort(port)
	if !ok || err != nil || number == 0 || !isID(sandbox) {
		return nil, errAddress
	}
	conn, err := p.dialer.DialPort(ctx, session.Tenant(tenant), sandbox, number)
	if err != nil {
		return nil, err
	}
	return p.add(conn)
}

// add keeps a connection in the list of open ones.
func (p *pool) add(conn net.Conn) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	pooled := &pooledConn{Conn: halfclose.New(conn), pool: p}
	p.open[pooled] = struct{}{}
	return pooled, nil
}

// close closes all connections.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	open := p.open
	p.open = map[*pooledConn]struct{}{}
	p.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close()
	}
	p.transport.CloseIdleConnections()
}

// pooledConn leaves the list when it is closed.
type pooledConn struct {
	*halfclose.Conn
	pool   *pool
	body   atomic.Pointer[body] // of the last request that had one
	closed atomic.Bool
}

// carry limits the pauses of a body when the connection is closed.
func (c *pooledConn) carry(b *body) {
	c.body.Store(b)
	if c.closed.Load() {
		b.limit()
	}
}

func (c *pooledConn) Close() error {
	c.pool.mu.Lock()
	delete(c.pool.open, c)
	c.pool.mu.Unlock()
	c.closed.Store(true)
	if b := c.body.Load(); b != nil {
		b.limit()
	}
	return c.Conn.Close()
}
