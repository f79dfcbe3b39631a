package sshkey

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// guardedConn is a connection to an SSH server. Its Read returns only bytes that the
// handshake has passed. One goroutine can read while another writes.
type guardedConn struct {
	net.Conn
	refuse func(error)

	mu        sync.Mutex // held while bytes are checked, not while they are sent
	handshake handshake
	failed    error // why the connection was refused

	ready  []byte // belongs to Read
	buffer []byte // belongs to Read
	once   sync.Once
}

// Read returns bytes of the server.
func (c *guardedConn) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		c.mu.Lock()
		done, failed := c.handshake.server.done, c.failed
		c.mu.Unlock()
		switch {
		case failed != nil:
			return 0, c.end(failed)
		case done:
			return c.Conn.Read(p)
		}
		if c.buffer == nil {
			c.buffer = make([]byte, 4<<10)
		}
		n, err := c.Conn.Read(c.buffer)
		if n > 0 {
			c.ready = c.receive(c.buffer[:n])
			continue
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// receive checks bytes of the server and returns those that pass; after a refusal, a message
// with the reason.
func (c *guardedConn) receive(data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		var pass []byte
		if pass, c.failed = c.handshake.fromServer(data); c.failed == nil {
			return pass
		}
	}
	if !c.handshake.server.identified {
		return nil
	}
	return disconnect(c.failed.Error())
}

// Write sends bytes of the client.
func (c *guardedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.failed == nil {
		c.failed = c.handshake.fromClient(p)
	}
	failed, pass := c.failed, c.handshake.client.take()
	c.mu.Unlock()
	if failed != nil {
		return 0, c.end(failed)
	}
	if pass == nil {
		pass = p // the client's part of the handshake is complete
	}
	if len(pass) > 0 {
		if _, err := c.Conn.Write(pass); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// CloseWrite sends the end of the client's stream.
func (c *guardedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// end closes the connection because of a refusal, and returns that.
func (c *guardedConn) end(why error) error {
	c.once.Do(func() {
		_ = c.Conn.Close()
		c.refuse(why)
	})
	return why
}

// disconnect returns a message that makes the client print the reason and end (RFC 4253,
// section 11.1).
func disconnect(reason string) []byte {
	const hostKeyNotVerifiable = 9
	const block = 8
	payload := binary.BigEndian.AppendUint32([]byte{msgDisconnect}, hostKeyNotVerifiable)
	for _, text := range []string{"aibox: " + reason, "en"} {
		payload = append(binary.BigEndian.AppendUint32(payload, uint32(len(text))), text...)
	}
	padding := block - (5+len(payload))%block
	if padding < 4 {
		padding += block
	}
	packet := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	packet = append(append(packet, byte(padding)), payload...)
	return append(packet, make([]byte, padding)...)
}
