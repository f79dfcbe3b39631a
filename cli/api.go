package cli

import (
	"context"
	"fmt"

	"aibox/api/client"
	"aibox/api/server"
	"aibox/api/wiring"
	"aibox/internal/paths"
)

// openAPI opens the API in this process. complete may change its options first.
func (a *cli) openAPI(ctx context.Context, complete func(*server.Options)) (*wiring.API, error) {
	return wiring.Open(ctx, wiring.Config{App: a.app, Version: version(), Log: a.err, Complete: complete})
}

// api returns a client of this user's server, or of the API in this process if no server
// runs, and what closes it.
func (a *cli) api(ctx context.Context) (*client.Client, func(), error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, nil, err
	}
	if path := server.SocketPath(dirs); server.Listens(path) {
		c := client.Unix(path)
		return c, c.Close, nil
	}
	s, err := a.openAPI(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := s.EndAbandoned(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(a.err, "%s a sandbox of a command that was killed could not be ended: %s\n", a.errTerm.warn("!"), safe(err.Error()))
	}
	c, end := client.InProcess(server.WithLocal(context.WithoutCancel(ctx)), s)
	return c, func() { end(); _ = s.Close() }, nil
}
