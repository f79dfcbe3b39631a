package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxRelayed is how many requests to a sandbox are served at the same time.
	maxRelayed = 32
	// maxIdle is how many unused connections of a user are kept.
	maxIdle = 4
	// requestTime is how long a client may take to send its request.
	requestTime = 30 * time.Second
)

// Relay passes requests of clients on to the sandbox, over connections that it keeps. It is
// safe for concurrent use.
type Relay struct {
	dial func(ctx context.Context, user string) (net.Conn, error)
	done func(q Request, entry *Entry, err error)

	slots chan struct{}

	mu     sync.Mutex
	closed bool
	idle   map[string][]*inside // by user
}

// inside is a connection to the sandbox.
type inside struct {
	conn net.Conn
	in   *reader
}

// NewRelay returns a relay. dial connects to the program in the sandbox that serves a user.
// done receives each request after its end.
func NewRelay(dial func(ctx context.Context, user string) (net.Conn, error), done func(q Request, entry *Entry, err error)) *Relay {
	return &Relay{dial: dial, done: done, slots: make(chan struct{}, maxRelayed), idle: map[string][]*inside{}}
}

// Close closes the unused connections. The others end with the sandbox.
func (r *Relay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, list := range r.idle {
		for _, c := range list {
			_ = c.conn.Close()
		}
	}
	clear(r.idle)
}

// Serve serves one request of a client, and closes its connection. from may be a reader with
// bytes of the connection.
func (r *Relay) Serve(ctx context.Context, client net.Conn, from io.Reader) {
	defer client.Close()
	_ = client.SetReadDeadline(time.Now().Add(requestTime))
	in := newReader(from)
	q, err := expect[Request](in, frameRequest)
	if err != nil {
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	entry, err := r.serve(ctx, q, client, in)
	r.done(q, entry, err)
}

// serve serves a request, and returns the sandbox's answer.
func (r *Relay) serve(ctx context.Context, q Request, client net.Conn, in *reader) (*Entry, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		return nil, refuse(client, &Error{Code: Exhausted, Message: fmt.Sprintf("%d requests for files are served already", maxRelayed)})
	}
	if invalid := q.check(); invalid != nil {
		return nil, refuse(client, invalid)
	}
	c, err := r.take(ctx, q.User)
	if err != nil {
		failure := &Error{Code: Failed, Message: err.Error()}
		errors.As(err, &failure)
		return nil, refuse(client, failure)
	}
	x := &relayed{request: q, client: client, from: in, inside: c}
	answer, err := x.run(ctx)
	switch {
	case err != nil:
		_ = c.conn.Close()
		return nil, err
	case !x.reusable():
		_ = c.conn.Close()
	default:
		r.keep(q.User, c)
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Entry, nil
}

// refuse sends an error to the client, and returns it. A client that is sending data reads
// the error first.
func refuse(client net.Conn, refusal *Error) error {
	if writeMessage(client, frameAnswer, Answer{Error: refusal}) == nil {
		drain(client)
	}
	return refusal
}

// drain waits until the client has read an answer and closed the connection: closing it with
// unread bytes would destroy the answer.
func drain(client net.Conn) {
	_ = client.SetReadDeadline(time.Now().Add(requestTime))
	_, _ = io.Copy(io.Discard, client)
}

// take returns an unused connection, or a new one.
func (r *Relay) take(ctx context.Context, user string) (*inside, error) {
	for {
		r.mu.Lock()
		list := r.idle[user]
		if len(list) == 0 {
			r.mu.Unlock()
			break
		}
		c := list[len(list)-1]
		if r.idle[user] = list[:len(list)-1]; len(list) == 1 {
			delete(r.idle, user)
		}
		r.mu.Unlock()
		if isIdle(c) {
			return c, nil
		}
		_ = c.conn.Close()
	}
	conn, err := r.dial(ctx, user)
	if err != nil {
		return nil, err
	}
	return &inside{conn, newReader(conn)}, nil
}

// keep stores an unused connection. It replaces those of another user if those of many users are
// stored.
func (r *Relay) keep(user string, c *inside) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle[user]) >= maxIdle {
		_ = c.conn.Close()
		return
	}
	for other := range r.idle {
		if len(r.idle[user]) > 0 || len(r.idle) < maxRelayed {
			break
		}
		for _, unused := range r.idle[other] {
			_ = unused.conn.Close()
		}
		delete(r.idle, other)
	}
	c.in.buf = nil
	r.idle[user] = append(r.idle[user], c)
}

// isIdle reports whether a connection is open and has nothing to read. The program at the
// other end may have been killed.
func isIdle(c *inside) bool {
	raw, ok := c.conn.(syscall.Conn)
	if !ok || c.in.in.Buffered() > 0 {
		return false
	}
	socket, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	idle := false
	err = socket.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		idle = errors.Is(err, unix.EAGAIN)
	})
	return err == nil && idle
}

// relayed is one request that is being relayed.
type relayed struct {
	request Request
	client  net.Conn
	from    *reader // of client
	inside  *inside

	mu   sync.Mutex
	sent bool // all of the client's frames are passed on
	over bool // the last answer has arrived; the client gets it next
}

// outcome is the part of an Answer that the relay reads. It is without the page, which can have many
// entries.
type outcome struct {
	Entry *Entry `json:"entry"`
	Error *Error `json:"error"`
}

// run passes the request on, and frames in both directions, until the last answer.
func (x *relayed) run(ctx context.Context) (outcome, error) {
	stop := context.AfterFunc(ctx, func() { _ = x.inside.conn.Close() })
	defer stop()
	if err := writeMessage(x.inside.conn, frameRequest, x.request); err != nil {
		return outcome{}, refuse(x.client, &Error{Code: Failed, Message: "the sandbox gave no answer"})
	}
	var up sync.WaitGroup
	up.Go(x.passUp)
	answer, err := x.passDown()
	if err != nil {
		_ = x.client.Close()
		_ = x.inside.conn.Close()
	}
	// The client closes the connection after the last answer. passUp cannot see that while it sends
	// data that the sandbox does not read.
	_ = x.client.SetReadDeadline(time.Now().Add(requestTime))
	late := time.AfterFunc(requestTime, func() { _ = x.inside.conn.Close() })
	up.Wait()
	late.Stop()
	return answer, err
}

// passUp passes the data of a write on, and waits until the client closes its connection. If
// that is before the last answer, it ends the request.
func (x *relayed) passUp() {
	ended := x.request.Op != OpWrite
	for {
		kind, payload, err := x.from.next()
		if err == nil && !ended && (kind == frameData || kind == frameEnd) {
			if err = writeFrame(x.inside.conn, kind, payload); err == nil && kind == frameEnd {
				ended = true
				x.mu.Lock()
				x.sent = true
				x.mu.Unlock()
			}
			if err == nil {
				continue
			}
		}
		x.mu.Lock()
		over := x.over
		x.mu.Unlock()
		if !over {
			_ = x.inside.conn.Close()
		}
		return
	}
}

// passDown passes the sandbox's frames on, and returns the last answer.
func (x *relayed) passDown() (outcome, error) {
	first := true
	for {
		kind, payload, err := x.inside.in.next()
		if err == nil && !x.allows(kind, first) {
			err = fmt.Errorf("%w: frame %q", ErrProtocol, kind)
		}
		if err != nil {
			return outcome{}, fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		var answer outcome
		last := false
		if kind == frameAnswer {
			if answer, err = decode[outcome](payload); err != nil {
				return outcome{}, err
			}
			last = !first || !x.request.streams() || answer.Error != nil
			first = false
		}
		if last { // the client may close its connection as soon as it has read it
			x.mu.Lock()
			x.over = true
			x.mu.Unlock()
		}
		if err := writeFrame(x.client, kind, payload); err != nil {
			return outcome{}, err
		}
		if last {
			return answer, nil
		}
	}
}

// allows reports whether the sandbox may send a frame.
func (x *relayed) allows(kind byte, first bool) bool {
	switch kind {
	case frameAnswer:
		return true
	case frameData, frameEnd:
		return !first && x.request.Op == OpRead
	case frameEvent:
		return !first && x.request.Op == OpWatch
	}
	return false
}

// reusable reports whether the connection to the sandbox is between two requests.
func (x *relayed) reusable() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request.Op != OpWatch && (x.request.Op != OpWrite || x.sent)
}
