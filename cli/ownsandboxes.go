package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/client"
	"aibox/api/mcp"
	"aibox/api/server"
	"aibox/app"
	"aibox/app/sandbox/code"
	"aibox/session"
)

// The server's limits for the agent in a sandbox, which may be hostile: the supervisor keeps in
// memory what the agent sends.
const (
	ownConnections = 16
	ownHeaderTime  = 15 * time.Second
	ownIdleTime    = 5 * time.Minute
	ownHeader      = 64 << 10 // bytes
)

// ownRights are what the agent can do with its sandboxes.
var ownRights = []aiboxv1.Right{
	aiboxv1.Right_RIGHT_READ, aiboxv1.Right_RIGHT_SANDBOXES, aiboxv1.Right_RIGHT_EXECUTE, aiboxv1.Right_RIGHT_NETWORK,
}

// serveOwnSandboxes serves the sandboxes of a session's agent over the Model Context Protocol,
// at /mcp. Only the session's own sandbox reaches the listener, so that a request needs no
// token. It is app.ServeOwn.
func serveOwnSandboxes(ctx context.Context, own app.OwnSandboxes, listener net.Listener) error {
	tools := &ownTools{ctx: ctx, own: own}
	defer tools.close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: ownHeaderTime, IdleTimeout: ownIdleTime, MaxHeaderBytes: ownHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(netutil.LimitListener(listener, ownConnections))
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ownTools serves the tools. Most agents with sandboxes of their own use none, so what the
// tools work with is made at the first request.
type ownTools struct {
	ctx context.Context //nolint:containedctx // of the server
	own app.OwnSandboxes

	lock    sync.Mutex // guards what follows
	handler http.Handler
	end     func()
}

// ServeHTTP implements http.Handler.
func (t *ownTools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.own.Called()
	handler, err := t.open()
	if err != nil {
		http.Error(w, "the tools cannot be opened", http.StatusInternalServerError)
		return
	}
	handler.ServeHTTP(w, r)
}

func (t *ownTools) open() (http.Handler, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.handler != nil {
		return t.handler, nil
	}
	sessions := t.own.Sessions
	api, err := server.New(server.Options{
		Services: server.Services{
			Sandboxes: t.own.Cases, Processes: sessions, Code: server.NewCode(code.NewRunner(sessions)),
			Files: func(_ context.Context, id session.ID, user string) server.Files { return sessions.Files(id, user) },
		},
		Version: version(),
	})
	if err != nil {
		return nil, err
	}
	calls, endCalls := client.InProcess(server.WithCaller(t.ctx, auth.Caller{Tenant: t.own.Tenant, Rights: ownRights}), api)
	t.end = func() { endCalls(); api.Close() }
	t.handler = &mcp.Handler{
		Tenant: func(*http.Request) (string, bool) { return string(t.own.Tenant), true },
		Config: func(string) mcp.Config {
			return mcp.Config{Version: version(), Sandboxes: &mcp.Sandboxes{
				Own: t.own.Most,
				API: func(ctx context.Context, _ http.Header) (context.Context, *client.Client) { return ctx, calls },
			}}
		},
	}
	return t.handler, nil
}

func (t *ownTools) close() {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.end != nil {
		t.end()
	}
}
