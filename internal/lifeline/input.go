package lifeline

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Stdin sends input to the agent. It blocks while 256 KiB are not yet acknowledged, until
// Receive (in another goroutine) gets an acknowledgment, the connection is closed, or ctx
// ends.
func (c *Conn) Stdin(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		n, err := c.stdin.reserve(ctx, c.closed, min(len(p), MaxPayload))
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
func (c *Conn) Free() int { return c.stdin.free() }

// Acknowledge reports, in init, that the agent has read n bytes of its input.
func (c *Conn) Acknowledge(n int) error {
	return c.Send(Frame{Type: TypeStdinAck, Payload: binary.BigEndian.AppendUint32(nil, uint32(n))})
}

func (c *Conn) acknowledged(payload []byte) error {
	if len(payload) != 4 {
		return fmt.Errorf("%w: an acknowledgement of %d bytes", ErrProtocol, len(payload))
	}
	return c.stdin.release(binary.BigEndian.Uint32(payload))
}
