// Package ports connects the host to TCP ports inside a session's sandbox, without a route
// between the two. The supervisor dials a port through the sandbox's PID 1 (Dialer), and
// offers it on the host's loopback (Forward). It never interprets the data.
package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"aibox/internal/files"
	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

// Limits of a Dialer.
const (
	// maxPending bounds the dials that wait for the sandbox; further dials wait for one of
	// these to end.
	maxPending = 64
	// maxUnknown bounds the connections from the sandbox that have not sent a token yet.
	maxUnknown = 128
	// tokenTimeout is how long a connection from the sandbox has to send its token.
	tokenTimeout = 2 * time.Second
	// dialTimeout is how long PID 1 has to connect, and the lifetime of a token.
	dialTimeout = 15 * time.Second
)

// ErrNothingListens reports that no program in the sandbox listens on a port.
var ErrNothingListens = errors.New("nothing listens on the port in the sandbox")

// ErrEnded reports that the sandbox has ended.
var ErrEnded = errors.New("the sandbox has ended")

type token [lifeline.TokenSize]byte

// Dialer connects to ports of one sandbox. It asks PID 1, which connects back with a token
// that is valid for one dial. It listens only while a dial waits, so at other times nothing
// in the sandbox can connect to it. Connections without a valid token are closed. It is safe
// for concurrent use.
type Dialer struct {
	listener net.Listener
	send     func(t lifeline.Type, message any) error
	refused  func(reason string)

	slots chan struct{} // one slot per waiting dial

	mu        sync.Mutex // guards the following fields
	made      int
	pending   map[token]*pendingDial
	unknown   []net.Conn // connections that have not sent a token, the oldest first
	accepting bool       // a goroutine accepts connections
	closed    bool
	lists     []chan<- lifeline.Ports // callers that wait for the list of ports
}

// pendingDial is a dial that waits for the sandbox. Each channel receives at most one value.
type pendingDial struct {
	id     int
	token  token
	conn   chan relay.Conn
	failed chan error
	refuse func(lifeline.DialFailed) error // returns the error for PID 1's answer
}

// NewDialer returns a dialer for the sandbox whose lifeline was accepted on listener, which
// must be paused. send sends a message to PID 1, and refused receives the reason when a
// connection of the sandbox is closed.
func NewDialer(listener net.Listener, send func(t lifeline.Type, message any) error, refused func(reason string)) *Dialer {
	return &Dialer{
		listener: listener, send: send, refused: refused,
		slots:   make(chan struct{}, maxPending),
		pending: map[token]*pendingDial{},
	}
}

// Dial connects to a port of the sandbox. It returns ErrNothingListens if no program
// listens there. Otherwise the caller owns the connection; its data comes from the sandbox.
func (d *Dialer) Dial(ctx context.Context, port uint16) (relay.Conn, error) {
	return d.dial(ctx, portRefusal, func(p *pendingDial) error {
		return d.send(lifeline.TypeDial, lifeline.Dial{ID: p.id, Port: port, Token: p.token[:]})
	})
}

// DialFiles connects to the program in the sandbox that gives a user of the sandbox access
// to its files. A refusal by the sandbox is a files.Error.
func (d *Dialer) DialFiles(ctx context.Context, user string) (relay.Conn, error) {
	return d.dial(ctx, filesRefusal, func(p *pendingDial) error {
		return d.send(lifeline.TypeOpenFiles, lifeline.OpenFiles{ID: p.id, User: user, Token: p.token[:]})
	})
}

// dial asks PID 1 for a connection, and waits for it.
func (d *Dialer) dial(ctx context.Context, refuse func(lifeline.DialFailed) error, ask func(*pendingDial) error) (relay.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p, err := d.begin(refuse)
	if err != nil {
		return nil, err
	}
	defer d.end(p)
	if err := ask(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	select {
	case conn := <-p.conn:
		return conn, nil
	case err := <-p.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin adds a pending dial and starts to listen.
func (d *Dialer) begin(refuse func(lifeline.DialFailed) error) (*pendingDial, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrEnded
	}
	d.made++
	p := &pendingDial{id: d.made, conn: make(chan relay.Conn, 1), failed: make(chan error, 1), refuse: refuse}
	_, _ = rand.Read(p.token[:]) // never fails
	if len(d.pending) == 0 {
		if err := resume(d.listener); err != nil {
			return nil, fmt.Errorf("listening for the sandbox: %w", err)
		}
	}
	d.pending[p.token] = p
	if !d.accepting {
		d.accepting = true
		go d.accept()
	}
	return p, nil
}

// end removes a dial, and stops listening after the last one.
func (d *Dialer) end(p *pendingDial) {
	d.mu.Lock()
	d.remove(p)
	d.mu.Unlock()
	select {
	case conn := <-p.conn: // it arrived after the wait had ended
		conn.Close()
	default:
	}
}

// remove ends the validity of a dial's token. d.mu is held.
func (d *Dialer) remove(p *pendingDial) {
	if d.pending[p.token] == nil {
		return
	}
	delete(d.pending, p.token)
	if len(d.pending) == 0 {
		Pause(d.listener)
	}
}

// accept accepts connections of the sandbox while dials wait.
func (d *Dialer) accept() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			if !d.continues(err) {
				return
			}
			continue
		}
		d.enter(conn)
		go d.identify(conn)
	}
}

// enter adds a connection to those that have not sent a token. It closes the oldest one if
// there are too many: PID 1 sends its token at once, so its connection is among the newest,
// no matter how many connections a program in the sandbox holds open.
func (d *Dialer) enter(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unknown) == maxUnknown {
		d.unknown[0].Close()
		d.unknown = slices.Delete(d.unknown, 0, 1)
	}
	d.unknown = append(d.unknown, conn)
}

// leave removes a connection from those that have not sent a token, and reports whether it
// was still one of them.
func (d *Dialer) leave(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.unknown, conn)
	if i >= 0 {
		d.unknown = slices.Delete(d.unknown, i, i+1)
	}
	return i >= 0
}

// continues reports whether accept continues after an error, which is the usual sign of a
// paused listener. If the listener fails while dials wait, these fail, too.
func (d *Dialer) continues(err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) > 0 && isPaused(err) {
		return true // a new dial has resumed the listener
	}
	for _, p := range d.pending {
		d.fail(p, fmt.Errorf("accepting the sandbox's connection: %w", err))
	}
	d.accepting = false
	return false
}

// identify passes a connection to the dial whose token it sends, and closes others.
func (d *Dialer) identify(conn net.Conn) {
	var sent token
	_ = conn.SetReadDeadline(time.Now().Add(tokenTimeout))
	_, err := io.ReadFull(conn, sent[:])
	if !d.leave(conn) {
		d.refused("too many connections at once")
		return
	}
	joinable, ok := conn.(relay.Conn)
	if err == nil && ok && conn.SetReadDeadline(time.Time{}) == nil && d.deliver(sent, joinable) {
		return
	}
	conn.Close()
	d.refused("aibox did not ask for this connection")
}

// deliver passes a connection to the dial with the token. Each token works once.
func (d *Dialer) deliver(sent token, conn relay.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending[sent]
	if p == nil {
		return false
	}
	d.remove(p)
	p.conn <- conn
	return true
}

// fail ends a dial with an error. d.mu is held.
func (d *Dialer) fail(p *pendingDial, err error) {
	d.remove(p)
	p.failed <- err
}

// Handle handles a frame of PID 1 about ports, and ignores others. An error means that PID 1
// violated the protocol.
func (d *Dialer) Handle(f lifeline.Frame) error {
	switch f.Type {
	case lifeline.TypeDialFailed:
		failure, err := lifeline.Decode[lifeline.DialFailed](f)
		if err == nil {
			d.dialFailed(failure)
		}
		return err
	case lifeline.TypePorts:
		list, err := lifeline.Decode[lifeline.Ports](f)
		if err == nil {
			d.deliverPorts(list)
		}
		return err
	}
	return nil
}

// portRefusal returns the error for a port to which PID 1 could not connect.
func portRefusal(failure lifeline.DialFailed) error {
	if failure.Refused {
		return ErrNothingListens
	}
	return fmt.Errorf("PID 1 of the sandbox cannot connect: %q", failure.Error)
}

// filesRefusal returns the error for a user whose files PID 1 could not open.
func filesRefusal(failure lifeline.DialFailed) error {
	if failure.Refused {
		return &files.Error{Code: files.Invalid, Message: failure.Error}
	}
	return &files.Error{Code: files.Failed, Message: failure.Error}
}

func (d *Dialer) dialFailed(failure lifeline.DialFailed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pending {
		if p.id == failure.ID {
			d.fail(p, p.refuse(failure))
			return
		}
	}
}

// Listening is a listening socket of the sandbox.
type Listening struct {
	Address netip.Addr `json:"address"` // 0.0.0.0 and :: are all addresses
	Port    uint16     `json:"port"`
}

// List lists the TCP ports on which programs in the sandbox listen, ordered by port.
func (d *Dialer) List(ctx context.Context) ([]Listening, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer := make(chan lifeline.Ports, 1)
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.lists = append(d.lists, answer)
	}
	d.mu.Unlock()
	if closed {
		return nil, ErrEnded
	}
	defer d.forget(answer)
	if err := d.send(lifeline.TypeListPorts, struct{}{}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	select {
	case list, ok := <-answer:
		if !ok {
			return nil, ErrEnded
		}
		return listening(list)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget removes a caller that waits for the list of ports.
func (d *Dialer) forget(answer chan<- lifeline.Ports) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists = slices.DeleteFunc(d.lists, func(other chan<- lifeline.Ports) bool { return other == answer })
}

// listening returns the entries of PID 1's list that are valid.
func listening(list lifeline.Ports) ([]Listening, error) {
	var found []Listening
	for _, entry := range list.Ports[:min(len(list.Ports), lifeline.MaxPorts)] {
		address, err := netip.ParseAddr(entry.Address)
		if err == nil && entry.Port > 0 {
			found = append(found, Listening{address.WithZone(""), entry.Port})
		}
	}
	if list.Error != "" && len(found) == 0 {
		return nil, fmt.Errorf("PID 1 of the sandbox cannot list its ports: %q", list.Error)
	}
	return found, nil
}

// deliverPorts passes a list to all callers that wait for one.
func (d *Dialer) deliverPorts(list lifeline.Ports) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, wait := range d.lists {
		wait <- list
	}
	d.lists = nil
}

// Close makes all waiting and all later calls return ErrEnded. It leaves connections open.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, p := range d.pending {
		d.fail(p, ErrEnded)
	}
	for _, wait := range d.lists {
		close(wait)
	}
	d.lists = nil
}
