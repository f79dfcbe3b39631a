package lifeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
)

// window is how many bytes of input may be on their way and not yet taken by
// the agent. It keeps an agent that never reads its input from blocking the
// frames after it (stop, signal, resize).
const window = 256 << 10

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

// Free returns how many bytes Stdin would accept now without waiting.
func (c *Conn) Free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return window - c.inflight
}

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
