package egress

import (
	"bufio"
	"io"
	"net"
)

// bufferedConn is a connection of which some bytes were read into a buffer.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// prefixedConn is a bufferedConn that begins with bytes that were consumed.
type prefixedConn struct {
	net.Conn
	prefix []byte
	reader io.Reader
}

func (c *prefixedConn) Read(p []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(p, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.reader.Read(p)
}
