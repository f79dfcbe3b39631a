package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/forward"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"
)

// Ports are the use cases of ports, and how requests are forwarded to them.
type Ports struct {
	Sessions PortSessions
	Key      forward.Key // of signed URLs
	Domains  []string    // below which ports have host names; empty means localhost
	// Origin returns the scheme and the port of a listener on TCP, for signed URLs that are
	// requested on the Unix socket; empty if there is none.
	Origin func() (scheme, port string)
}

// PortSessions connects to ports; see manager.Manager.
type PortSessions interface {
	Ports(ctx context.Context, id session.ID) ([]ports.Listening, error)
	DialPort(ctx context.Context, id session.ID, port uint16) (net.Conn, error)
}

// portService serves the service Ports, and decides for the forwarder who may use which port.
type portService struct {
	*Ports

	server    *Server
	sandboxes Sandboxes
	forwarder *forward.Forwarder
}

// newPortService also makes the forwarder. Forwarder.Close must be called.
func newPortService(s *Server) *portService {
	p := &portService{Ports: s.options.Ports, server: s, sandboxes: s.options.Services.Sandboxes}
	p.forwarder = forward.New(forward.Options{
		Authorizer: p, Dialer: p, Key: p.Key, Domains: p.Domains,
		Begin:   func(caller forward.Caller) (func(), error) { return s.calls.begin(caller.Tenant) },
		Stall:   s.options.Limits.Stall,
		Check:   func(r *http.Request) error { return s.checkOrigin(&Route{}, r) },
		Ready:   p.ready,
		Refused: p.refused,
		WriteError: func(w http.ResponseWriter, r *http.Request, status int, err error) {
			shown, _ := toError(r.Context(), err)
			w.Header().Set(requestHeader, shown.GetId())
			writeError(w, status, shown)
		},
	})
	return p
}

// Authorize implements forward.Authorizer.
func (p *portService) Authorize(ctx context.Context, token string) (forward.Caller, error) {
	caller := auth.Local()
	if token != "" || !isLocal(ctx) {
		var err error
		if caller, err = p.server.ByToken(ctx, token); err != nil {
			return forward.Caller{}, portError(err, "there is no valid token")
		}
	}
	return forward.Caller{Tenant: caller.Tenant, Token: caller.Token}, caller.Check(aiboxv1.Right_RIGHT_EXECUTE)
}

// refused records a request that is not forwarded. Its path in the sandbox is content, and is
// not recorded.
func (p *portService) refused(r *http.Request, caller forward.Caller, sandbox string, port uint16, err error) {
	p.server.record(r.Context(), Call{
		Tenant: caller.Tenant, Token: caller.Token, Method: fmt.Sprintf("%s port %d", r.Method, port), Subject: sandbox, Err: err,
	})
}

// Check implements forward.Authorizer.
func (p *portService) Check(ctx context.Context, of forward.Caller) error {
	if of.Token == "" && of.Tenant == session.LocalTenant {
		return nil // the machine's user, whose rights do not end
	}
	caller, err := p.server.callerOf(ctx, of.Tenant, of.Token)
	if err != nil {
		return portError(err, "the token is no longer valid")
	}
	return caller.Check(aiboxv1.Right_RIGHT_EXECUTE)
}

// portError returns the fault for a token that is not valid, or that cannot be checked.
func portError(err error, invalid string) error {
	if errors.Is(err, errTokens) {
		return fault.New(fault.Environment, "%w", errTokens)
	}
	return fault.New(fault.Refused, "%s", invalid)
}

// ready returns an error unless a sandbox of the tenant is running.
func (p *portService) ready(ctx context.Context, tenant session.Tenant, sandbox string) error {
	_, err := p.sandboxes.Running(ctx, tenant, sandbox)
	return err
}

// DialPort implements forward.Dialer.
func (p *portService) DialPort(ctx context.Context, tenant session.Tenant, sandbox string, port uint16) (net.Conn, error) {
	id, err := p.sandboxes.Running(ctx, tenant, sandbox)
	if err != nil {
		return nil, err
	}
	return p.Sessions.DialPort(ctx, id, port)
}

// List implements the method of the schema.
func (p *portService) List(ctx context.Context, r *connect.Request[aiboxv1.ListPortsRequest]) (*connect.Response[aiboxv1.ListPortsResponse], error) {
	id, err := p.sandboxes.Running(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId())
	if err != nil {
		return nil, err
	}
	listening, err := p.Sessions.Ports(ctx, id)
	if err != nil {
		return nil, err
	}
	answer := &aiboxv1.ListPortsResponse{}
	for _, one := range listening {
		answer.Ports = append(answer.Ports, &aiboxv1.Port{Port: uint32(one.Port), Address: one.Address.String()})
	}
	return connect.NewResponse(answer), nil
}

// Lifetimes of signed URLs.
const (
	defaultURL = time.Hour
	minURL     = time.Second
)

// Sign implements the method of the schema.
func (p *portService) Sign(ctx context.Context, r *connect.Request[aiboxv1.SignPortRequest]) (*connect.Response[aiboxv1.SignPortResponse], error) {
	caller := auth.From(ctx)
	ttl := defaultURL
	if r.Msg.GetTtl() != nil {
		ttl = r.Msg.GetTtl().AsDuration()
	}
	switch port := r.Msg.GetPort(); {
	case port == 0 || port > 65535:
		return nil, fault.New(fault.Usage, "a port is a number from 1 to 65535")
	case ttl < minURL || ttl > forward.MaxURL:
		return nil, fault.New(fault.Usage, "a signed URL is valid for 1 second to %v", forward.MaxURL)
	}
	id, err := p.sandboxes.Running(ctx, caller.Tenant, r.Msg.GetSandboxId())
	if err != nil {
		return nil, err
	}
	scheme, port := p.origin(ctx)
	if scheme == "" {
		return nil, fault.New(fault.Conflict, "browsers cannot reach this server: it listens on no TCP address").
			Hint("`aibox serve --listen 127.0.0.1:8800` listens on one")
	}
	signed := p.forwarder.Sign(forward.Caller{Tenant: caller.Tenant, Token: caller.Token}, string(id), uint16(r.Msg.GetPort()), ttl)
	if port != "" {
		signed.Host += ":" + port
	}
	return connect.NewResponse(&aiboxv1.SignPortResponse{
		Url: fmt.Sprintf("%s://%s/?%s", scheme, signed.Host, signed.Query), ExpireTime: timestamppb.New(signed.Expires),
	}), nil
}

// origin returns the scheme and the port of this server's address, as the caller uses it.
func (p *portService) origin(ctx context.Context) (scheme, port string) {
	r := requestOf(ctx)
	switch {
	case !isLocal(ctx) && r.tls:
		return "https", portOf(r.host)
	case !isLocal(ctx) && !isWithinProcess(ctx):
		return "http", portOf(r.host)
	case p.Origin != nil:
		return p.Origin()
	default:
		return "", ""
	}
}

// portOf returns the port of a Host header; empty if it has none.
func portOf(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return ""
	}
	return port
}
