package client

import (
	"context"
	"io"

	"aibox/internal/files"
	"aibox/session"
	"aibox/session/control"
)

// Files returns a client for the files in the sandbox of a running session. Its operations
// are done inside the sandbox with the rights of user: USER or USER:GROUP, each a name or a
// number; empty is root. Each operation fails if the session does not run.
func (s *Client) Files(id session.ID, user string) *files.Client {
	return files.NewClient(func(ctx context.Context) (conn io.ReadWriteCloser, err error) {
		if err := s.checkRunning(id); err != nil {
			return nil, err
		}
		err = s.sendPatiently(ctx, id, func(ctx context.Context, c control.Client) error {
			conn, err = c.Files(ctx)
			return err
		})
		return conn, err
	}, user)
}
