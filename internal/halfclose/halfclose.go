// Package halfclose ends connections of which one direction was closed and on which nothing arrives
// any more.
package halfclose

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// idleTimeout is how long the other end may be silent after this end has closed its direction. It may
// never notice, or may have vanished.
const idleTimeout = 10 * time.Minute

// Conn is a connection that can be half closed. After CloseWrite, a Read fails when nothing has
// arrived for 10 minutes.
type Conn struct {
	net.Conn
	half atomic.Bool
}

// New returns conn as a Conn.
func New(conn net.Conn) *Conn { return &Conn{Conn: conn} }

// CloseWrite ends what this end sends. Without support for that, it returns errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	c.half.Store(true)
	return errors.Join(half.CloseWrite(), c.SetReadDeadline(time.Now().Add(idleTimeout)))
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.half.Load() {
		_ = c.SetReadDeadline(time.Now().Add(idleTimeout))
	}
	return n, err
}
