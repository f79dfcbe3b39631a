package server

import (
	"net"
	"sync"

	"aibox/internal/halfclose"
)

// limitListener accepts a limited number of connections at once. Unlike those of package netutil,
// its connections keep CloseWrite. Without that, the end of the stream of a program in a sandbox
// would close an upgraded connection on which the client still sends.
type limitListener struct {
	net.Listener
	open   chan struct{} // an element for each open connection
	closed chan struct{}
	close  func()
}

// newLimitListener limits the open connections of a listener to most.
func newLimitListener(listener net.Listener, most int) *limitListener {
	closed := make(chan struct{})
	return &limitListener{listener, make(chan struct{}, most), closed, sync.OnceFunc(func() { close(closed) })}
}

// Accept waits for the next connection, and for its place.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &limitedConn{halfclose.New(conn), sync.OnceFunc(func() { <-l.open })}, nil
}

// Close ends the listener and an Accept that waits for a place.
func (l *limitListener) Close() error {
	err := l.Listener.Close()
	l.close()
	return err
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	*halfclose.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}
