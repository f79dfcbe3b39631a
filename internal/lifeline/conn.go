package lifeline

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Conn is one end of a lifeline. Receive belongs to one goroutine; every other
// method is safe for concurrent use.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	buf  []byte

	writing sync.Mutex
	out     []byte
	batch   net.Buffers // of sendData

	stdin *window // of the agent

	mu       sync.Mutex
	flows    map[uint32]*Flow // that are open
	lastFlow uint32
	silent   time.Time     // since when Receive has waited for bytes; zero while it does not wait
	drain    time.Duration // how long Receive may wait for bytes; 0 is forever
	closed   chan struct{}
	once     sync.Once
}

// receiveSize is how many bytes are received at once.
const receiveSize = 2 * (headerSize + MaxPayload)

// NewConn wraps a connection and takes ownership of it.
func NewConn(conn net.Conn) *Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Keepalives notice a peer that disappeared without a FIN or a reset. They are
		// patient: a machine that is suspended for some seconds must not end its sandboxes.
		// An error is ignored: without keepalives such an end is noticed later.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 6})
	}
	return &Conn{
		conn:   conn,
		in:     bufio.NewReaderSize(conn, receiveSize),
		buf:    make([]byte, MaxPayload),
		stdin:  newWindow(windowSize),
		flows:  map[uint32]*Flow{},
		closed: make(chan struct{}),
	}
}

// Close ends the connection, and with it the sandbox. It may be called twice.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.conn.Close()
}

// Send sends one frame, splitting a payload over MaxPayload: bytes into several frames,
// JSON into parts of one message. It blocks while the other side does not read. After an
// error the connection is unusable.
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

// sendData sends bytes of a flow as TypeData frames, all of them in one write.
func (c *Conn) sendData(flow uint32, stream uint8, p []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	frames := (len(p) + MaxData - 1) / MaxData
	c.out = slices.Grow(c.out[:0], frames*(headerSize+dataHeader)) // large enough that the headers do not move
	c.batch = c.batch[:0]
	for len(p) > 0 {
		part := p[:min(len(p), MaxData)]
		p = p[len(part):]
		at := len(c.out)
		c.out = appendHeader(c.out, TypeData, dataHeader+len(part))
		c.out = append(binary.BigEndian.AppendUint32(c.out, flow), stream)
		c.batch = append(c.batch, c.out[at:], part)
	}
	batch := c.batch // WriteTo consumes it
	_, err := batch.WriteTo(c.conn)
	clear(c.batch)
	return err
}

// SendMessage sends v as JSON in a frame of type t.
func (c *Conn) SendMessage(t Type, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Send(Frame{Type: t, Payload: data})
}

// SendMessages sends each value as JSON in a frame of type t, all of them in one write, which
// wakes the other side once.
func (c *Conn) SendMessages(t Type, values ...any) error {
	var frames []byte
	for _, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if len(data) > MaxMessage {
			return fmt.Errorf("a message of %d bytes is over the lifeline's limit of %d", len(data), MaxMessage)
		}
		for ; len(data) > MaxPayload; data = data[MaxPayload:] {
			frames = append(appendHeader(frames, t|more, MaxPayload), data[:MaxPayload]...)
		}
		frames = append(appendHeader(frames, t, len(data)), data...)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.conn.Write(frames)
	return err
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
			if err = c.acknowledged(f.Payload); err == nil {
				continue
			}
		}
		if err == nil {
			var returned bool
			if returned, err = c.admit(f); err == nil && !returned {
				continue
			}
		}
		if err != nil {
			// After any error but a clean end, the position in the stream is unknown.
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

// Drain is for a sandbox that is known to be dead, and so does not close its connection.
// Receive still returns the data that it sent, and fails once nothing has arrived for
// limit.
func (c *Conn) Drain(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drain = limit
	_ = c.conn.SetReadDeadline(time.Now().Add(limit))
}
