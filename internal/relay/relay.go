// Package relay joins two stream connections: each receives the bytes that the other sends.
// It does not interpret them.
package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a connection that can end its own stream and still receive, as those of TCP and
// Unix sockets can.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// halfOpen is how long one side may send nothing after the other has ended its stream. The
// other may have disconnected, which looks like the end of its stream.
const halfOpen = 2 * time.Minute

// Join passes bytes between a and b until both streams have ended or one connection fails. It
// closes both, and returns how many bytes each received. If one fails, the other fails too,
// so that a cut stream does not look complete. To end it early, close both.
func Join(a, b Conn) (toA, toB int64) {
	return join(a, b, halfOpen)
}

func join(a, b Conn, patience time.Duration) (toA, toB int64) {
	defer a.Close()
	defer b.Close()
	var copying sync.WaitGroup
	copying.Go(func() { toB = pass(b, a, patience) })
	toA = pass(a, b, patience)
	copying.Wait()
	return toA, toB
}

// pass copies from one connection to the other until its end. Between sockets the bytes stay
// in the kernel (splice).
func pass(to, from Conn, patience time.Duration) int64 {
	var passed int64
	for {
		n, err := io.Copy(to, from)
		passed += n
		switch {
		case err == nil:
			// The other direction continues as long as bytes arrive.
			_ = to.SetReadDeadline(time.Now().Add(patience))
			if to.CloseWrite() == nil {
				return passed
			}
		case errors.Is(err, os.ErrDeadlineExceeded) && n > 0:
			_ = from.SetReadDeadline(time.Now().Add(patience))
			continue
		}
		abort(to)
		abort(from)
		return passed
	}
}

// abort closes a connection at once. The other end of a TCP connection sees a reset.
func abort(conn Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
