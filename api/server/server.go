// Package server serves the API: gRPC, gRPC-Web, Connect and REST on one port, WebSockets for
// process streams, reflection, health and metrics. Each call is authenticated, restricted to
// its tenant, checked for its right, limited, performed, and recorded. The use cases in
// Services do the work; the server itself keeps nothing, so it can be killed and started at
// any time.
//
// Other packages add routes with Server.Handle: the server authenticates the caller, checks
// the route's right, and applies the limits; the handler finds the caller with auth.From and
// reports errors with WriteError.
package server

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"connectrpc.com/vanguard"

	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/budget"
	"aibox/api/eventstream"
)

// Options configure a server.
type Options struct {
	Services Services
	Ports    *Ports // nil is unsupported
	// Tokens finds the caller that has a token. Nil refuses all tokens.
	Tokens Tokens
	// Record receives each call that changed something or was refused. Nil records nothing.
	Record func(Call)
	Log    *slog.Logger // of internal errors; nil discards them
	Limits Limits
	// Hosts are the names and addresses, without ports, that a Host header may have on TCP.
	// Nil permits those of loopback.
	Hosts   []string
	Version string // of aibox
}

// Server is the API as a handler. It is safe for concurrent use once all routes are added.
type Server struct {
	options  Options
	mux      *http.ServeMux
	metrics  *metrics
	failures failureCounts
	calls    *callLimit
	entered  *callLimit      // requests of Enter, whose calls count among the others
	hurry    context.Context // ends when EndCalls is called
	endCalls context.CancelFunc
	answers  *budget.Budget
	messages *budget.Budget
	services []string // full names
	started  time.Time
	front    http.Handler // the handler that Serve serves
	ports    *portService // nil means unsupported
	recheck  time.Duration
	alive    time.Duration // between keep-alive events
}

// New returns a server with the routes of the schema.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Limits = o.Limits.withDefaults()
	s := &Server{
		options: o, failures: failureCounts{report: o.Record}, mux: http.NewServeMux(), metrics: newMetrics(o.Services.Sandboxes), started: time.Now(), recheck: recheck, alive: eventstream.Alive,
		calls: newCallLimit(o.Limits), entered: newCallLimit(o.Limits),
		answers:  budget.New("the answers that %s collects at once", o.Limits.Answers, o.Limits.TenantAnswers),
		messages: budget.New("the messages that %s receives at once", o.Limits.Messages, o.Limits.TenantMessages),
	}
	s.hurry, s.endCalls = context.WithCancel(context.Background())
	s.front = s
	if o.Ports != nil {
		s.ports = newPortService(s)
		s.front = s.ports.forwarder.Wrap(s)
	}
	if err := s.addServices(); err != nil {
		return nil, err
	}
	s.addProcessSocket()
	s.addInfo()
	return s, nil
}

// compressSize is the size from which an answer is compressed for a client that accepts it, in
// bytes. Compressing a smaller one takes longer than sending it.
const compressSize = 4 << 10

// addServices adds the services of the schema, in all protocols.
func (s *Server) addServices() error {
	options := append(strictCodecs(),
		connect.WithInterceptors(&interceptor{s}),
		connect.WithReadMaxBytes(int(s.options.Limits.Message)),
		connect.WithRecover(func(ctx context.Context, _ connect.Spec, _ http.Header, reason any) error {
			return s.recovered(ctx, reason)
		}),
	)
	// Answers with bytes of a sandbox are not compressed: on most connections that takes more
	// time than it saves, and many are compressed already.
	streaming := append(slices.Clone(options), connect.WithCompressMinBytes(math.MaxInt))
	options = append(options, connect.WithCompressMinBytes(compressSize))
	var all []*vanguard.Service
	add := func(path string, handler http.Handler) {
		s.services = append(s.services, path[1:len(path)-1])
		s.mux.Handle(path, s.guard(Route{Pattern: path, Handler: earlyErrors(handler), checked: true}))
		all = append(all, vanguard.NewService(path, handler, vanguard.WithMaxMessageBufferBytes(uint32(s.options.Limits.Message)),
			vanguard.WithTargetProtocols(vanguard.ProtocolConnect), vanguard.WithNoTargetCompression()))
	}
	o := s.options.Services
	add(aiboxv1connect.NewSandboxesHandler(&sandboxes{o.Sandboxes, o.Creations}, options...))
	add(aiboxv1connect.NewProcessesHandler(s.processes(), streaming...))
	files := &fileService{o.Sandboxes, o.Files, o.Processes, s.alive}
	s.addUploads(files)
	s.addDownloads(files)
	s.addTrees()
	add(aiboxv1connect.NewFilesHandler(files, streaming...))
	add(aiboxv1connect.NewNetworkHandler(&network{o.Sandboxes}, options...))
	add(aiboxv1connect.NewVolumesHandler(&volumes{o.Sandboxes}, options...))
	add(aiboxv1connect.NewAuditHandler(&auditLogs{o.Sandboxes, o.Audit}, options...))
	add(aiboxv1connect.NewServerHandler(&info{o.Quotas, s.options.Version}, options...))
	var ports aiboxv1connect.PortsHandler = aiboxv1connect.UnimplementedPortsHandler{}
	if s.ports != nil {
		ports = s.ports
	}
	add(aiboxv1connect.NewPortsHandler(ports, options...))
	add(aiboxv1connect.NewSessionsHandler(orUnimplemented[aiboxv1connect.SessionsHandler](o.Sessions, aiboxv1connect.UnimplementedSessionsHandler{}), options...))
	add(aiboxv1connect.NewTemplatesHandler(orUnimplemented[aiboxv1connect.TemplatesHandler](o.Templates, aiboxv1connect.UnimplementedTemplatesHandler{}), options...))
	rules := restRules()
	rest, err := vanguard.NewTranscoder(all, vanguard.WithUnknownHandler(http.HandlerFunc(s.unknown)), vanguard.WithCodec(strictREST(rules)),
		withRESTUnpacker(s.options.Limits.Message))
	if err != nil {
		return err
	}
	s.mux.Handle("/v1/", s.guard(Route{Pattern: "/v1/", Handler: checkREST(rules, restErrors(rest)), checked: true}))
	s.mux.Handle("/", s.guard(Route{Pattern: "/", Handler: http.HandlerFunc(s.unknown), checked: true}))
	return nil
}

// orUnimplemented returns given, or fallback if it is nil.
func orUnimplemented[T comparable](given, fallback T) T {
	var none T
	if given == none {
		return fallback
	}
	return given
}

// maxInfo is the maximum size of a message to health and reflection in bytes, also of one that was
// compressed. Everyone can call health.
const maxInfo = 16 << 10

// addInfo adds health, reflection and metrics.
func (s *Server) addInfo() {
	small := connect.WithReadMaxBytes(maxInfo)
	path, health := grpchealth.NewHandler(grpchealth.NewStaticChecker(s.services...), small)
	s.mux.Handle(path, s.guard(Route{Pattern: path, Handler: health, Public: true}))
	s.Handle(Route{Pattern: "GET /health", Public: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
	})})
	reflector := grpcreflect.NewStaticReflector(s.services...)
	path, handler := grpcreflect.NewHandlerV1(reflector, small)
	s.mux.Handle(path, s.guard(Route{Pattern: path, Handler: handler, checked: true}))
	path, handler = grpcreflect.NewHandlerV1Alpha(reflector, small)
	s.mux.Handle(path, s.guard(Route{Pattern: path, Handler: handler, checked: true}))
	s.Handle(Route{Pattern: "GET /metrics", localOnly: true, checked: true, Handler: s.metrics.handler()})
	s.Handle(Route{Pattern: "GET /openapi.yaml", Public: true, Handler: http.HandlerFunc(serveOpenAPI)})
}

// Wrap puts a handler in front of the server. It sees each request before any check. It is
// called before Serve.
func (s *Server) Wrap(wrap func(next http.Handler) http.Handler) { s.front = wrap(s.front) }

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close closes the connections to ports of sandboxes.
func (s *Server) Close() {
	if s.ports != nil {
		s.ports.forwarder.Close()
	}
}

// unknown answers a request for a path that no route has.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, errNoRoute(r))
}
