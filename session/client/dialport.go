package client

import (
	"context"
	"errors"
	"net"

	"aibox/session"
	"aibox/session/control"
	"aibox/session/ports"
)

// DialPort connects to a TCP port in the sandbox of a running session, without a listener on
// the host. It returns ports.ErrNothingListens if no program listens there, and a Conflict
// if the session is not running. Otherwise the caller owns the connection; its bytes are the
// sandbox's. The end of the session closes it.
func (s *Client) DialPort(ctx context.Context, id session.ID, port uint16) (conn net.Conn, err error) {
	nothing := false
	err = s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error {
		conn, err = c.DialPort(ctx, port)
		nothing = errors.Is(err, ports.ErrNothingListens)
		return err
	})
	if nothing {
		return nil, ports.ErrNothingListens
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}
