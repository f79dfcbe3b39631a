package lifeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
)

// Streams of a process's data.
const (
	StreamStdin  uint8 = 0
	StreamStdout uint8 = 1 // a PTY's bytes come here
	StreamStderr uint8 = 2
)

// dataHeader is the size of a TypeData frame before its bytes.
const dataHeader = 5

// MaxData is the maximum number of bytes in one TypeData frame.
const MaxData = MaxPayload - dataHeader

// Flow is the data of one process, or of one connection, in both directions. At most 512 KiB
// are in transit into the sandbox, and 1 MiB out of it: then the sender waits until the
// receiver acknowledges some. Flows share nothing, so that none waits for another. It is
// safe for concurrent use.
type Flow struct {
	ID   uint32
	conn *Conn
	out  *window
	most int // bytes that may arrive without acknowledgment

	mu sync.Mutex
	in int // bytes that arrived and were not acknowledged
}

// NewFlow opens a flow with a new ID, for a request to init. Until its Close, Receive
// returns its TypeData and TypeDataEnd frames.
func (c *Conn) NewFlow() *Flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastFlow++
	for c.flows[c.lastFlow] != nil {
		c.lastFlow++
	}
	return c.open(c.lastFlow, inputWindow, OutputWindow)
}

// OpenFlow opens the flow of a supervisor's request, in init. It returns nil if the ID is in
// use.
func (c *Conn) OpenFlow(id uint32) *Flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flows[id] != nil {
		return nil
	}
	return c.open(id, OutputWindow, inputWindow)
}

// reopenFlow is NewFlow for a flow that already has an ID. It returns nil if the ID is in use.
func (c *Conn) reopenFlow(id uint32) *Flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flows[id] != nil {
		return nil
	}
	return c.open(id, inputWindow, OutputWindow)
}

// open adds a flow with windows of these sizes. c.mu is held.
func (c *Conn) open(id uint32, out, in int) *Flow {
	f := &Flow{ID: id, conn: c, out: newWindow(out), most: in}
	c.flows[id] = f
	return f
}

// Close ends the flow on this side: waiting senders fail, and data that still arrives is
// dropped.
func (f *Flow) Close() {
	f.out.close()
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	if f.conn.flows[f.ID] == f {
		delete(f.conn.flows, f.ID)
	}
}

// Send sends data of one stream. It blocks while the window is full.
func (f *Flow) Send(ctx context.Context, stream uint8, p []byte) error {
	for len(p) > 0 {
		n, err := f.SendSome(ctx, stream, p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// maxBatch is the maximum number of bytes that SendSome sends, since other senders wait
// meanwhile.
const maxBatch = 4 * MaxData

// SendSome is Send for as much of p as fits into the window, at most 256 KiB. It returns how
// many bytes that was; 0 after an error.
func (f *Flow) SendSome(ctx context.Context, stream uint8, p []byte) (int, error) {
	n, err := f.out.reserve(ctx, f.conn.closed, min(len(p), maxBatch))
	if err != nil {
		return 0, err
	}
	if err := f.conn.sendData(f.ID, stream, p[:n]); err != nil {
		return 0, err
	}
	return n, nil
}

// Unacknowledged returns how many bytes have arrived that were not acknowledged.
func (f *Flow) Unacknowledged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.in
}

// End reports to the other side that no more data comes from this one.
func (f *Flow) End() error {
	return f.conn.Send(Frame{Type: TypeDataEnd, Payload: binary.BigEndian.AppendUint32(nil, f.ID)})
}

// Acknowledge reports to the other side that n bytes of its data were consumed.
func (f *Flow) Acknowledge(n int) error {
	f.mu.Lock()
	if n > f.in {
		f.mu.Unlock()
		return fmt.Errorf("acknowledging %d bytes of %d", n, f.in)
	}
	f.in -= n
	f.mu.Unlock()
	if n == 0 {
		return nil
	}
	payload := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, f.ID), uint32(n))
	return f.conn.Send(Frame{Type: TypeDataAck, Payload: payload})
}

// arrive counts received bytes, and refuses more than the window.
func (f *Flow) arrive(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.in += n; f.in > f.most {
		return fmt.Errorf("%w: %d bytes of flow %d, more than its window", ErrProtocol, f.in, f.ID)
	}
	return nil
}

// Data is a parsed TypeData frame.
type Data struct {
	Flow   uint32
	Stream uint8
	Bytes  []byte // valid until the next call of Receive
}

// ParseData parses the payload of a TypeData frame.
func ParseData(payload []byte) (Data, error) {
	if len(payload) <= dataHeader {
		return Data{}, fmt.Errorf("%w: data of %d bytes", ErrProtocol, len(payload))
	}
	return Data{binary.BigEndian.Uint32(payload), payload[4], payload[dataHeader:]}, nil
}

// ParseFlow parses the payload of a TypeDataEnd frame.
func ParseFlow(payload []byte) (uint32, error) {
	if len(payload) != 4 {
		return 0, fmt.Errorf("%w: the id of a flow has %d bytes", ErrProtocol, len(payload))
	}
	return binary.BigEndian.Uint32(payload), nil
}

// admit checks a frame of a flow. It returns false for a frame that Receive does not
// return: an acknowledgment, or one of a flow that is closed.
func (c *Conn) admit(frame Frame) (bool, error) {
	switch frame.Type {
	case TypeData:
		data, err := ParseData(frame.Payload)
		if err != nil {
			return false, err
		}
		flow := c.flow(data.Flow)
		if flow == nil {
			return false, nil
		}
		return true, flow.arrive(len(data.Bytes))
	case TypeDataEnd:
		id, err := ParseFlow(frame.Payload)
		return err == nil && c.flow(id) != nil, err
	case TypeDataAck:
		if len(frame.Payload) != 8 {
			return false, fmt.Errorf("%w: an acknowledgment of %d bytes", ErrProtocol, len(frame.Payload))
		}
		flow := c.flow(binary.BigEndian.Uint32(frame.Payload))
		if flow == nil {
			return false, nil
		}
		return false, flow.out.release(binary.BigEndian.Uint32(frame.Payload[4:]))
	}
	return true, nil
}

func (c *Conn) flow(id uint32) *Flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flows[id]
}
