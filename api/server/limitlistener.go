package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"aibox/internal/halfclose"
)

// settleTime is how long a connection that has become idle is not closed: HTTP/2 reports it as idle
// before the end of its last answer is sent.
const settleTime = 100 * time.Millisecond

// limitListener has a limited number of open connections. If there are as many, a new one takes the
// place of the one that has waited longest for a request, after an earlier request if possible. So
// nobody, with or without a token, can keep others out by connections that do nothing; what
// connections do is limited elsewhere. Unlike those of package netutil, its connections keep
// CloseWrite. Without that, the end of the stream of a program in a sandbox would close an upgraded
// connection on which the client still sends.
type limitListener struct {
	net.Listener
	open   chan struct{} // an element for each open connection
	closed chan struct{}
	close  func()

	mu          sync.Mutex
	idle, fresh []*limitedConn // after a request, and before the first one; longest first
	full        bool           // a new connection waits for a place
}

// newLimitListener limits the open connections of a listener to most. Its setState must be called
// with their states.
func newLimitListener(listener net.Listener, most int) *limitListener {
	closed := make(chan struct{})
	return &limitListener{Listener: listener, open: make(chan struct{}, most), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// Accept waits for the next connection, and for its place.
func (l *limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.open <- struct{}{}:
		return l.limited(conn), nil
	default:
	}
	l.makeRoom()
	defer l.stopMakingRoom()
	select {
	case l.open <- struct{}{}:
		return l.limited(conn), nil
	case <-l.closed:
		_ = conn.Close()
		return nil, net.ErrClosed
	}
}

func (l *limitListener) limited(conn net.Conn) *limitedConn {
	c := &limitedConn{Conn: halfclose.New(conn), listener: l}
	c.release = sync.OnceFunc(func() { <-l.open })
	return c
}

// makeRoom closes the connection that has waited longest for a request, or the next one that does so
// if there is none, until stopMakingRoom is called.
func (l *limitListener) makeRoom() {
	l.mu.Lock()
	l.full = true
	var longest *limitedConn
	switch {
	case len(l.idle) > 0:
		longest = l.idle[0]
	case len(l.fresh) > 0:
		longest = l.fresh[0]
	}
	l.mu.Unlock()
	if longest != nil {
		_ = longest.Close()
	}
}

func (l *limitListener) stopMakingRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = false
}

// setState is the ConnState of the server of the connections.
func (l *limitListener) setState(conn net.Conn, state http.ConnState) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return
	}
	l.forget(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.fresh = append(l.fresh, c)
	case http.StateIdle:
		turn := c.turn
		time.AfterFunc(settleTime, func() {
			if l.remember(c, turn) {
				_ = c.Close()
			}
		})
	}
}

// remember remembers a connection that waits after a request, or reports that it must make room
// instead. turn is the connection's when it became idle.
func (l *limitListener) remember(c *limitedConn, turn int) (makesRoom bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.turn != turn: // it has another request, or is closed
	case l.full:
		l.full, makesRoom = false, true
	default:
		l.idle = append(l.idle, c)
	}
	return makesRoom
}

// forget removes a connection from those that wait.
func (l *limitListener) forget(c *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.turn++
	for _, list := range []*[]*limitedConn{&l.idle, &l.fresh} {
		if i := slices.Index(*list, c); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	}
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
	listener *limitListener
	release  func()
	turn     int // changes with its state; guarded by listener.mu
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.listener.forget(c)
	c.release()
	return err
}
