package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// connectionLimit bounds the connections of one session at a time.
const connectionLimit = 256

// Serve answers on listener until ctx ends, then cuts off the remaining requests and
// returns nil. It bounds connections, headers and idle time, but not how long an answer
// streams. If there are too many connections, new ones replace those that send nothing. It
// closes listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server, limited := NewServer(handler), newConnections(listener, connectionLimit)
	server.ConnState, server.ConnContext = limited.state, limited.context
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(limited)
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// NewServer wraps handler in a server bounded against slow and hostile clients:
// header size and time, idle connections; no limit on how long an answer streams.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          discardLogger(),
	}
}
