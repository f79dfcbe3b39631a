package clients

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// cutter forwards connections to a server, and cuts each one after a number of bytes of
// answers, a number of times.
type cutter struct {
	every int64
	left  atomic.Int64 // cuts
}

// cutStreams returns the URL of a cutter for a stream of 100 MiB: it is 140 MB in JSON, of
// which each of the 50 cuts takes its part. All of them must be made.
func cutStreams(t *testing.T, server string) string {
	t.Helper()
	const every, cuts = 2 << 20, 50
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{every: every}
	c.left.Store(cuts)
	t.Cleanup(func() {
		_ = listener.Close()
		if left := c.left.Load(); left > 0 {
			t.Errorf("%d of %d cuts were not made", left, cuts)
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.forward(conn, server)
		}
	}()
	return "http://" + listener.Addr().String()
}

func (c *cutter) forward(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	go func() {
		_, _ = io.Copy(upstream, client)
		_ = upstream.(*net.TCPConn).CloseWrite()
	}()
	n, _ := io.Copy(client, io.LimitReader(upstream, c.every))
	if n < c.every {
		return
	}
	if c.left.Add(-1) >= 0 {
		_ = client.(*net.TCPConn).SetLinger(0) // a reset, as of a lost network
		return
	}
	_, _ = io.Copy(client, upstream)
}
