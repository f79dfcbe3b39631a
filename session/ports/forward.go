package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"aibox/internal/delay"
	"aibox/internal/peer"
	"aibox/internal/relay"
)

// Forward offers a port of the sandbox on the host's loopback, to processes of the user who
// runs this process. A connection that cannot reach the port is reset.
type Forward struct {
	port     uint16
	listener net.Listener
	dial     Dial
	slots    chan struct{}     // slots for open connections, of all forwards of the session
	notice   func(text string) // receives messages for the user; may be called concurrently

	mu     sync.Mutex
	counts Counts
	last   string // the last notice
}

// Counts are the numbers of connections and bytes of a Forward.
type Counts struct {
	Connections int   `json:"connections"`       // to the port
	Refused     int   `json:"refused,omitempty"` // by other users, over the limit, or to a port without a server
	Sent        int64 `json:"sent"`              // bytes to the sandbox, of closed connections
	Received    int64 `json:"received"`          // bytes from the sandbox, of closed connections
}

// MaxConnections bounds the simultaneous connections to all ports of a session.
const MaxConnections = 256

// NewSlots returns the slots that the forwards of one session share.
func NewSlots() chan struct{} { return make(chan struct{}, MaxConnections) }

// Dial connects to a port of the sandbox. ended is called at the end of the connection.
type Dial func(ctx context.Context, port uint16) (inside relay.Conn, ended func(), err error)

// Open opens a listener on the host. Errors are faults for the user. dial connects to the
// port, and notice receives messages for the user.
func Open(ctx context.Context, r Request, dial Dial, slots chan struct{}, notice func(text string)) (*Forward, error) {
	listener, err := r.listen(ctx)
	if err != nil {
		return nil, err
	}
	return &Forward{port: r.Port, listener: listener, dial: dial, slots: slots, notice: notice}, nil
}

// Address returns the address on the host.
func (f *Forward) Address() string { return f.listener.Addr().String() }

// Counts returns the counts so far.
func (f *Forward) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// Serve serves connections until ctx ends. It then closes them, and returns when all are
// closed.
func (f *Forward) Serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = f.listener.Close() })()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	for {
		conn, err := f.listener.Accept()
		switch {
		case err == nil:
			f.admit(ctx, &serving, conn.(*net.TCPConn))
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default: // such as too many open files
			f.report(fmt.Sprintf("a connection could not be accepted: %v", err))
			delay.Wait(ctx, 100*time.Millisecond)
		}
	}
}

// admit serves a connection of this user's processes in the background, and refuses others.
func (f *Forward) admit(ctx context.Context, serving *sync.WaitGroup, conn *net.TCPConn) {
	uid, err := peer.Owner(conn)
	switch {
	case err != nil:
		f.refuse(conn, "")
		return
	case int(uid) != os.Getuid():
		f.refuse(conn, fmt.Sprintf("refused a connection of another user of this machine (uid %d)", uid))
		return
	}
	select {
	case f.slots <- struct{}{}:
		serving.Go(func() {
			defer func() { <-f.slots }()
			f.join(ctx, conn)
		})
	default:
		f.refuse(conn, fmt.Sprintf("refused a connection: %d are open, the limit of a session", MaxConnections))
	}
}

// join copies data between a connection and the port until both have ended.
func (f *Forward) join(ctx context.Context, conn *net.TCPConn) {
	inside, ended, err := f.dial(ctx, f.port)
	switch {
	case errors.Is(err, ErrNothingListens):
		f.refuse(conn, fmt.Sprintf("nothing listens on port %d in the sandbox", f.port))
		return
	case err != nil && ctx.Err() != nil:
		f.refuse(conn, "")
		return
	case err != nil:
		f.refuse(conn, fmt.Sprintf("port %d in the sandbox cannot be reached: %v", f.port, err))
		return
	}
	defer ended()
	f.mu.Lock()
	f.counts.Connections++
	f.last = ""
	f.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		_ = conn.Close()
		_ = inside.Close()
	})()
	received, sent := relay.Join(conn, inside)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Sent += sent
	f.counts.Received += received
}

// refuse resets a connection and reports why; "" reports nothing.
func (f *Forward) refuse(conn *net.TCPConn, why string) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
	f.mu.Lock()
	f.counts.Refused++
	f.mu.Unlock()
	if why != "" {
		f.report(why)
	}
}

// report sends a message to the user, unless it is the same as the previous one.
func (f *Forward) report(text string) {
	f.mu.Lock()
	same := f.last == text
	f.last = text
	f.mu.Unlock()
	if !same {
		f.notice(text)
	}
}
