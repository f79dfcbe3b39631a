package egress

import (
	"io"
	"net"
)

// bufferedConn is a connection of which some bytes have already been read.
type bufferedConn struct {
	net.Conn
	prefix []byte       // read first
	stream *stream      // read next, until it is released
	second *secondHello // follows the client's data; nil if not needed
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	switch {
	case len(c.prefix) > 0:
		n := copy(p, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	case c.stream.reader != nil:
		return c.stream.reader.Read(p)
	}
	return c.Conn.Read(p)
}

// detach returns the bytes that were read already, and the underlying connection for the
// rest. It frees the buffer, which a tunnel does not need.
func (c *bufferedConn) detach() ([]byte, net.Conn) {
	begin := c.prefix
	if reader := c.stream.reader; reader != nil {
		buffered, _ := reader.Peek(reader.Buffered())
		begin = append(begin, buffered...)
		c.stream.release()
	}
	c.prefix = nil
	return begin, c.Conn
}

// beneath returns the underlying connection of to.
func beneath(to io.Writer) io.Writer {
	if conn, ok := to.(*bufferedConn); ok {
		return conn.Conn
	}
	return to
}
