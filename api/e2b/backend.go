package e2b

import (
	"context"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/pipe"
)

// backend calls aibox's API within this process, over connections in memory. So every call
// is authenticated, limited and recorded like any other.
type backend struct {
	sandboxes aiboxv1connect.SandboxesClient
	processes aiboxv1connect.ProcessesClient
	files     aiboxv1connect.FilesClient
	network   aiboxv1connect.NetworkClient
	templates aiboxv1connect.TemplatesClient
	volumes   aiboxv1connect.VolumesClient

	server    *http.Server
	transport *http.Transport
	listener  *pipe.Listener
}

func newBackend(api http.Handler) *backend {
	b := &backend{listener: pipe.NewListener()}
	b.transport = &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return b.listener.Dial(ctx) },
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}
	b.server = &http.Server{Handler: api, ReadHeaderTimeout: time.Minute}
	go b.server.Serve(b.listener) //nolint:errcheck // it ends when the listener is closed
	client, base := &http.Client{Transport: b.transport}, "http://"+defaultDomain
	options := []connect.ClientOption{connect.WithInterceptors(bearer{}), connect.WithReadMaxBytes(maxAnswer)}
	b.sandboxes = aiboxv1connect.NewSandboxesClient(client, base, options...)
	b.processes = aiboxv1connect.NewProcessesClient(client, base, options...)
	b.files = aiboxv1connect.NewFilesClient(client, base, options...)
	b.network = aiboxv1connect.NewNetworkClient(client, base, options...)
	b.templates = aiboxv1connect.NewTemplatesClient(client, base, options...)
	b.volumes = aiboxv1connect.NewVolumesClient(client, base, options...)
	return b
}

func (b *backend) close() error {
	err := b.server.Close()
	b.transport.CloseIdleConnections()
	return err
}

// caller is the caller of a request.
type caller struct {
	token   string // of aibox's API
	sandbox string // the sandbox that the call is inside; empty in the control plane
	user    string // user of the sandbox for whom the call acts; empty means the sandbox's user
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// bearer adds the caller's token to each call. A context without a caller gets none, so the
// API refuses the call.
type bearer struct{}

func (bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		authorize(ctx, r.Header())
		return next(ctx, r)
	}
}

func (bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		authorize(ctx, conn.RequestHeader())
		return conn
	}
}

func (bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func authorize(ctx context.Context, header http.Header) {
	if c := callerOf(ctx); c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
}
