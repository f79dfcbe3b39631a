// Package pipe connects parts of the same process: clients and servers without a network, and
// a writer with a reader of its bytes.
package pipe

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the connections that Dial makes. It is safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewListener returns a listener. It must be closed.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial returns a connection once the listener has accepted its other end. A closed listener
// is net.ErrClosed.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that were accepted stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener. The address names nothing.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "aibox", Net: "pipe"} }
