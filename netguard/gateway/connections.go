package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections is a listener that bounds how many connections are open at a time. At the
// limit, a new one replaces the one that has gone longest without a complete request: a
// client that opens many and sends nothing loses them, and an honest client is admitted at
// once.
type connections struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open map[*connection]struct{}
}

// connection is one of them.
type connection struct {
	net.Conn
	all *connections

	// These two belong to all.mu.
	since    time.Time // when it was opened, or had its latest answer
	complete bool      // a complete request has arrived and is being answered
}

func newConnections(listener net.Listener, limit int) *connections {
	return &connections{Listener: listener, limit: limit, open: map[*connection]struct{}{}}
}

// Accept waits for the next connection.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, all: l, since: time.Now()}
		evicted, ok := l.add(c)
		if evicted != nil {
			evicted.Conn.Close()
		}
		if ok {
			return c, nil
		}
		conn.Close()
	}
}

// add adds c. At the limit it removes another connection and returns it, and the caller
// closes that one.
func (l *connections) add(c *connection) (evicted *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		for other := range l.open {
			if !other.complete && (evicted == nil || other.since.Before(evicted.since)) {
				evicted = other
			}
		}
		if evicted == nil {
			return nil, false
		}
		delete(l.open, evicted)
	}
	l.open[c] = struct{}{}
	return evicted, true
}

// Close frees the connection's place.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// set records whether a complete request has arrived.
func (c *connection) set(complete bool) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.complete = complete
	if !complete {
		c.since = time.Now()
	}
}

// state is the server's hook: a connection whose answer is sent waits for a request.
func (l *connections) state(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*connection); ok && state == http.StateIdle {
		c.set(false)
	}
}

type connectionKey struct{}

// context returns the server's hook: a request's context leads to its connection.
func (l *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// completed records that a complete request has arrived.
func completed(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.set(true)
	}
}
