package client

import (
	"context"
	"errors"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/ports"
)

// Ports lists the TCP ports on which programs in the sandbox of a running session listen,
// ordered by port.
func (s *Client) Ports(ctx context.Context, id session.ID) (found []ports.Listening, err error) {
	err = s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error {
		found, err = c.Ports(ctx)
		return err
	})
	return found, err
}

// OpenPort opens a port in the sandbox of a running session on the host's loopback, and
// visits its updates until the session ends, ctx ends or visit fails. The port is then
// closed.
func (s *Client) OpenPort(ctx context.Context, id session.ID, r ports.Request, visit func(ports.Update) error) error {
	if err := r.Check(); err != nil {
		return err
	}
	opened := false
	err := s.whileResponsive(ctx, id, func(ctx context.Context) error {
		return s.send(id, func(c control.Client) error {
			err := c.OpenPort(ctx, r, func(u ports.Update) error {
				opened = true
				return visit(u)
			})
			if opened && errors.Is(err, control.ErrNoSupervisor) && !errors.Is(err, control.ErrTimeout) {
				err = fault.New(fault.Internal, "the supervisor of %s died, so the port is closed", id).
					Hint("`aibox ls` cleans up and lists the sessions that are left")
			}
			return err
		})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
