package server

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"aibox/internal/delay"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/internal/peer"
)

// SocketPath returns the path of the Unix socket of the server that has the sandboxes of
// these folders. State folders other than the user's default have separate sockets, since
// all share the runtime folder.
func SocketPath(dirs paths.Dirs) string {
	name := "aibox.sock"
	own, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || dirs.State != filepath.Join(own.HomeDir, ".local", "state", "aibox") {
		sum := sha256.Sum256([]byte(dirs.State))
		name = "aibox-" + hex.EncodeToString(sum[:6]) + ".sock"
	}
	return filepath.Join(dirs.Runtime, "api", name)
}

// Listens reports whether a server listens on a Unix socket.
func Listens(path string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// ListenUnix listens on a Unix socket that only this user can connect to. A socket that a
// dead server left is replaced; a server that runs is a Conflict. unlock must be called
// after the listener was closed.
func ListenUnix(path string) (_ net.Listener, unlock func(), err error) {
	if err := paths.MakePrivate(filepath.Dir(path)); err != nil {
		return nil, nil, fault.New(fault.Environment, "the folder for the server's socket cannot be used: %w", err)
	}
	lock, err := flock.Try(path+".lock", flock.Exclusive)
	if err != nil {
		return nil, nil, fault.New(fault.Conflict, "a server of this user runs already").Hint("end it first, or let it serve you: its socket is %s", path)
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	// The folder is already private, so no other user can connect before the mode is set.
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, nil, fault.New(fault.Environment, "the server's socket cannot be made: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	return peer.OwnUser{Listener: listener}, func() { _ = lock.Close() }, nil
}

// closeChunked closes the connection after an HTTP/1 request with a chunked body. The request
// may also have had a length, which the HTTP server removes. Then a proxy in front of this
// server may disagree about where the next request begins (RFC 9112, section 6.3).
func closeChunked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// begin gives each request its id, and limits how long the rest of a body of HTTP/1 may take to
// arrive if no route has done so: net/http reads it after the handler, without a time limit.
func (s *Server) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = s.identify(r)
		defer func() {
			if r.ProtoMajor == 1 && r.Body != http.NoBody && requestOf(r.Context()).body == nil {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(s.options.Limits.Stall, restPause)))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Serve serves the connections of a listener until ctx ends. Then it accepts no more, lets
// the calls end for up to grace, or until EndCalls, and ends the rest. Connections of ListenUnix are the
// machine's user's. config, which may be nil, is for TLS.
func (s *Server) Serve(ctx context.Context, listener net.Listener, config *tls.Config, grace time.Duration) error {
	defer s.failures.reportAll()
	l := s.options.Limits
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(config == nil)
	calls, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if _, ok := listener.(peer.OwnUser); ok {
		calls = WithLocal(calls)
	}
	h := &http.Server{
		Handler: closeChunked(s.begin(s.front)), Protocols: &protocols, TLSConfig: config, MaxHeaderBytes: l.Header, ReadHeaderTimeout: l.HeaderTime, IdleTimeout: l.Idle,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: l.TenantCalls, SendPingTimeout: l.Idle, PingTimeout: l.HeaderTime},
		ErrorLog:    log.New(io.Discard, "", 0), // it would contain data from strangers
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	limited := newLimitListener(listener, l.Connections)
	h.ConnState = limited.setState
	ended := make(chan error, 1)
	go func() {
		if config != nil {
			ended <- h.ServeTLS(limited, "", "")
		} else {
			ended <- h.Serve(limited)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	defer context.AfterFunc(s.hurry, cancel)()
	if h.Shutdown(graceful) != nil {
		end()
		_ = h.Close()
	}
	s.awaitCalls(graceful) // Shutdown does not know connections that were upgraded
	end()
	closing, cancelClosing := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancelClosing()
	s.awaitCalls(closing)
	<-ended //nolint:errcheck // http.ErrServerClosed
	return nil
}

// closeTime is how long the calls that Serve ends have to tell their clients why.
const closeTime = 2 * time.Second

// awaitCalls waits until no call runs, or until ctx ends.
func (s *Server) awaitCalls(ctx context.Context) {
	for s.Calls() > 0 && ctx.Err() == nil {
		delay.Wait(ctx, 20*time.Millisecond)
	}
}

// EndCalls ends the calls for which Serve waits.
func (s *Server) EndCalls() { s.endCalls() }

// Calls returns how many calls run.
func (s *Server) Calls() int { return s.calls.count() + s.entered.count() }
