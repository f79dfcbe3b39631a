package lifeline

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"aibox/internal/probe"
)

// window is how many bytes of input may be on their way and not yet taken by
// the agent. It keeps an agent that never reads its input from blocking the
// frames after it (stop, signal, resize).
const window = 256 << 10

// Conn is one end of a lifeline. Receive belongs to one goroutine; every other
// method is safe for concurrent use.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	buf  []byte

	writing sync.Mutex
	out     []byte

	mu       sync.Mutex
	inflight int
	room     chan struct{} // closed and replaced when inflight shrinks
	silent   time.Time     // since when Receive waits for bytes; zero while it does not
	drain    time.Duration // how long Receive may wait for bytes; 0 is forever
	closed   chan struct{}
	once     sync.Once
}

// NewConn wraps a connection and takes ownership of it.
func NewConn(conn net.Conn) *Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// A peer that vanished without a FIN, and without anybody who says so, is
		// noticed by keepalives. They are patient: a machine that is suspended for
		// some seconds must not end its sandboxes. The error is no reason to refuse:
		// without them the end comes later.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 6})
	}
	return &Conn{
		conn:   conn,
		in:     bufio.NewReaderSize(conn, headerSize+MaxPayload),
		buf:    make([]byte, MaxPayload),
		room:   make(chan struct{}),
		closed: make(chan struct{}),
	}
}

// Close ends the connection, and with it the sandbox. It may be called twice.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.conn.Close()
}

// Send sends one frame, splitting a payload over MaxPayload: bytes into several
// frames, JSON into parts of one message. It blocks while the other side does not
// read. An error means that the connection is of no further use.
func (c *Conn) Send(f Frame) error {
	if f.Type.carriesJSON() && len(f.Payload) > MaxMessage {
		return fmt.Errorf("a message of %d bytes is over the lifeline's limit of %d", len(f.Payload), MaxMessage)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	for rest := f.Payload; ; {
		part := rest[:min(len(rest), MaxPayload)]
		rest = rest[len(part):]
		t := f.Type
		if len(rest) > 0 && t.carriesJSON() {
			t |= more
		}
		c.out = append(appendHeader(c.out[:0], t, len(part)), part...)
		if _, err := c.conn.Write(c.out); err != nil {
			return err
		}
		if len(rest) == 0 {
			return nil
		}
	}
}

// SendMessage sends v as JSON in a frame of type t.
func (c *Conn) SendMessage(t Type, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Send(Frame{Type: t, Payload: data})
}

// Receive returns the next frame. The payload is valid until the next call.
// io.EOF means that the other side closed between two frames; ErrProtocol that
// it broke the rules, after which the connection is closed; ErrGone that Drain's
// time is over.
func (c *Conn) Receive() (Frame, error) {
	for {
		c.listen(time.Now())
		f, err := readFrame(c.in, c.buf)
		c.listen(time.Time{})
		if err == nil && f.Type == TypePong {
			continue
		}
		if err == nil && f.Type == TypeStdinAck {
			if err = c.acknowledge(f.Payload); err == nil {
				continue
			}
		}
		if err != nil {
			// Any error but a clean end leaves the stream out of step.
			if errors.Is(err, ErrProtocol) {
				_ = c.Close()
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = ErrGone
			}
			return Frame{}, err
		}
		return f, nil
	}
}

func (c *Conn) listen(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = since
	if c.drain > 0 {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.drain))
	}
}

// Drain is for a sandbox that is known to be dead, which closes no connection: what it
// sent is received still, and once nothing has come for limit Receive fails.
func (c *Conn) Drain(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain = limit
	_ = c.conn.SetReadDeadline(time.Now().Add(limit))
}

// Watch pings init, and returns ErrSilent when nothing at all has come for limit
// although Receive, in another goroutine, was waiting. An agent is root beside
// PID 1 and gVisor lets it stop PID 1 (SIGSTOP), which would then not notice the
// loss of the lifeline: a sandbox that is silent has to be destroyed. Watch returns
// ctx's error when ctx ends and another error when the connection fails. A limit
// of 0 means 10 s.
func (c *Conn) Watch(ctx context.Context, limit time.Duration) error {
	if limit == 0 {
		limit = 10 * time.Second
	}
	tick := time.NewTicker(limit / looks)
	defer tick.Stop()
	var quiet silence
	pinged := make(chan error, 1)
	idle := true // no ping is being sent
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.closed:
			return net.ErrClosed
		case err := <-pinged:
			if err != nil {
				return err
			}
			idle = true
		case now := <-tick.C:
			c.mu.Lock()
			silent := c.silent
			c.mu.Unlock()
			if quiet.look(silent) && now.Sub(silent) > limit {
				return ErrSilent
			}
			if idle {
				idle = false
				go func() { pinged <- c.Send(Frame{Type: TypePing}) }()
			}
		}
	}
}

// looks is how often Watch looks before it calls a sandbox silent.
const looks = 4

// silence counts consecutive checks that found the same silence. The clock alone proves
// nothing: it runs on while the machine suspends both the sandbox and this process.
type silence struct {
	since time.Time
	seen  int
}

// look records since when nothing has come (zero means that bytes are being received)
// and reports whether that was seen often enough.
func (s *silence) look(since time.Time) bool {
	if since.IsZero() || !since.Equal(s.since) {
		s.since, s.seen = since, 0
	}
	s.seen++
	return !since.IsZero() && s.seen > looks
}

// Hello waits for init's first frame and checks the version. Init speaks first.
func (c *Conn) Hello(ctx context.Context) (Hello, error) {
	f, err := c.await(ctx, TypeHello)
	if err != nil {
		return Hello{}, err
	}
	hello, err := Decode[Hello](f)
	if err == nil && hello.Version != Version {
		err = fmt.Errorf("%w: init speaks version %d, not %d", ErrProtocol, hello.Version, Version)
	}
	return hello, err
}

// Probe runs a plan in the sandbox and waits for its results: one for each probe, in
// the plan's order. ended receives each result as it comes, with its place in the
// plan; it may be nil. It is for the time before Start, when nothing else arrives.
func (c *Conn) Probe(ctx context.Context, plan probe.Plan, ended func(place int, result probe.Result)) ([]probe.Result, error) {
	if err := c.SendMessage(TypeProbe, plan); err != nil {
		return nil, err
	}
	results := make([]probe.Result, len(plan.Probes))
	known := make([]bool, len(plan.Probes))
	for range plan.Probes {
		place, result, err := c.probeResult(ctx, plan, known)
		if err != nil {
			return nil, err
		}
		results[place], known[place] = result, true
		if ended != nil {
			ended(place, result)
		}
	}
	return results, nil
}

// probeResult waits for the next result. It must be of a probe of the plan, and of
// one whose result is not known yet.
func (c *Conn) probeResult(ctx context.Context, plan probe.Plan, known []bool) (int, probe.Result, error) {
	f, err := c.await(ctx, TypeProbeResult)
	if err != nil {
		return 0, probe.Result{}, err
	}
	found, err := Decode[ProbeResult](f)
	if err != nil {
		return 0, probe.Result{}, err
	}
	if found.Place < 0 || found.Place >= len(plan.Probes) || known[found.Place] {
		return 0, probe.Result{}, fmt.Errorf("%w: a result for place %d of %d probes", ErrProtocol, found.Place, len(plan.Probes))
	}
	if p := plan.Probes[found.Place]; found.Result.Name != p.Name || found.Result.Target != p.Target {
		return 0, probe.Result{}, fmt.Errorf("%w: result %d is of another probe", ErrProtocol, found.Place)
	}
	return found.Place, found.Result, nil
}

// Start makes init run the agent. TypeStarted follows, or TypeError and
// TypeExit.
func (c *Conn) Start(s Start) error { return c.SendMessage(TypeStart, s) }

// Resize sets the size of the agent's PTY.
func (c *Conn) Resize(rows, cols uint16) error {
	return c.SendMessage(TypeResize, Resize{Rows: rows, Cols: cols})
}

// Signal sends a signal to the agent's process group.
func (c *Conn) Signal(number int) error { return c.SendMessage(TypeSignal, Signal{Number: number}) }

// Stop ends every process of the sandbox; see Stop.
func (c *Conn) Stop(grace time.Duration) error {
	return c.SendMessage(TypeStop, Stop{Grace: int(grace.Milliseconds())})
}

// Stdin sends input to the agent. It blocks while the agent has 256 KiB not yet
// taken, until Receive (in another goroutine) sees it take some, the connection
// is closed, or ctx ends.
func (c *Conn) Stdin(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		n, err := c.reserve(ctx, min(len(p), MaxPayload))
		if err != nil {
			return err
		}
		if err := c.Send(Frame{Type: TypeStdin, Payload: p[:n]}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// CloseStdin ends the agent's input.
func (c *Conn) CloseStdin() error { return c.Send(Frame{Type: TypeStdinEOF}) }

// Acknowledge is for init: the agent took n bytes of its input.
func (c *Conn) Acknowledge(n int) error {
	return c.Send(Frame{Type: TypeStdinAck, Payload: binary.BigEndian.AppendUint32(nil, uint32(n))})
}

// reserve waits for room in the window and takes up to n bytes of it.
func (c *Conn) reserve(ctx context.Context, n int) (int, error) {
	for {
		c.mu.Lock()
		free, room := window-c.inflight, c.room
		if free > 0 {
			n = min(n, free)
			c.inflight += n
			c.mu.Unlock()
			return n, nil
		}
		c.mu.Unlock()
		select {
		case <-room:
		case <-c.closed:
			return 0, net.ErrClosed
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (c *Conn) acknowledge(payload []byte) error {
	if len(payload) != 4 {
		return fmt.Errorf("%w: an acknowledgement of %d bytes", ErrProtocol, len(payload))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := binary.BigEndian.Uint32(payload)
	if uint64(n) > uint64(c.inflight) {
		return fmt.Errorf("%w: acknowledged %d bytes of %d", ErrProtocol, n, c.inflight)
	}
	c.inflight -= int(n)
	close(c.room)
	c.room = make(chan struct{})
	return nil
}

// await receives one frame that must be of type t, or a TypeError, which it
// returns as an error. When ctx ends the connection is closed, since a frame may
// have been read in part.
func (c *Conn) await(ctx context.Context, t Type) (Frame, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	f, err := c.Receive()
	switch {
	case ctx.Err() != nil:
		return Frame{}, ctx.Err()
	case err != nil:
		return Frame{}, err
	case f.Type == TypeError:
		message, err := Decode[Error](f)
		if err != nil {
			return Frame{}, err
		}
		return Frame{}, fmt.Errorf("the sandbox's init: %q", message.Text)
	case f.Type != t:
		return Frame{}, fmt.Errorf("%w: frame %#x in place of %#x", ErrProtocol, f.Type, t)
	}
	return f, nil
}

// Free returns how many bytes Stdin would accept now without waiting.
func (c *Conn) Free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return window - c.inflight
}
