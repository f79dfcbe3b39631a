package control

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// connKey marks the connection of a request.
type connKey struct{}

// withConn is for http.Server.ConnContext.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// untilGone returns a channel that is closed when the client of a request has closed its connection,
// even if the server does not read from it, or when ctx ends. every is the time between two checks.
func untilGone(ctx context.Context, every time.Duration) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for !isGone(ctx) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return gone
}

// isGone reports whether the client of a request has closed its connection.
func isGone(ctx context.Context) bool {
	conn, ok := ctx.Value(connKey{}).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true // it is closed on this side
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		// The kernel reports a hangup of a Unix socket also while there are bytes to read.
		poll := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(poll, 0)
		gone = err == nil && poll[0].Revents&unix.POLLHUP != 0
	})
	return gone || err != nil
}
