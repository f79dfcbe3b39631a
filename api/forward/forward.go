// Package forward passes HTTP requests and upgraded connections, such as WebSockets, on to
// TCP ports of sandboxes. A request names its port in one of two ways:
//
//   - by path, /v1/sandboxes/ID/ports/PORT/…, for programs, with a token;
//   - by host name, PORT-ID.DOMAIN, for browsers, with a token, a signed URL or the cookie
//     that a signed URL sets. There, each port of each sandbox is a separate origin.
//
// Only ports of the caller's own sandboxes can be reached: a request's target comes only
// from its path or host name, and is dialed inside the sandbox. Credentials of aibox never
// reach a sandbox, and a sandbox cannot set cookies of aibox or of another sandbox.
// docs/ports.md explains the decisions.
package forward

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/session"
)

// Caller is an authenticated caller.
type Caller struct {
	Tenant session.Tenant
	Token  string // the id of its token; empty for a caller without one
}

// Authorizer decides who may use ports.
type Authorizer interface {
	// Authorize returns the caller that a token belongs to, if it may use ports. An empty
	// token means that the request has none; its connection may identify the caller. Errors
	// are Refused faults, or Environment faults if the token cannot be checked.
	Authorize(ctx context.Context, token string) (Caller, error)
	// Check returns an error like that of Authorize unless a caller of an earlier Authorize still
	// may use ports.
	Check(ctx context.Context, caller Caller) error
}

// Dialer connects to ports of sandboxes.
type Dialer interface {
	// DialPort connects to a port of a tenant's sandbox. One of another tenant does not
	// exist: a NotFound fault. It returns ports.ErrNothingListens if no program listens.
	DialPort(ctx context.Context, tenant session.Tenant, sandbox string, port uint16) (net.Conn, error)
}

// Options configure a Forwarder.
type Options struct {
	Authorizer Authorizer
	Dialer     Dialer
	Key        Key // of signed URLs and cookies
	// Domains are the domains below which each port has a host name; empty means localhost.
	Domains []string
	// Check refuses requests by path that pages of other origins have caused, as the API does.
	// Nil refuses those with an Origin.
	Check func(r *http.Request) error
	// Begin counts a request of a caller until done is called, or refuses it. Nil counts none.
	Begin func(caller Caller) (done func(), err error)
	// Stall is the longest pause of a body after the program has answered or closed the connection;
	// 0 means no limit.
	Stall time.Duration
	// WriteError answers a request that is not forwarded, in place of plain text.
	WriteError func(w http.ResponseWriter, r *http.Request, status int, err error)
	// Ready returns an error if a tenant's sandbox cannot be used now. It is called for each request,
	// since a connection that was kept is used without dialing, and a paused sandbox would never
	// answer on it. Nil checks nothing.
	Ready func(ctx context.Context, tenant session.Tenant, sandbox string) error
	// Refused is called for a request that is not forwarded, before it is answered. caller and
	// sandbox are empty, and port is 0, as far as they are unknown. Nil does nothing.
	Refused func(r *http.Request, caller Caller, sandbox string, port uint16, err error)
}

// Forwarder forwards requests. It is safe for concurrent use.
type Forwarder struct {
	options Options
	proxy   *httputil.ReverseProxy
	pool    *pool
	now     func() time.Time
	recheck time.Duration
}

// New returns a Forwarder. Close must be called.
func New(options Options) *Forwarder {
	if len(options.Domains) == 0 {
		options.Domains = []string{"localhost"}
	}
	f := &Forwarder{options: options, pool: newPool(options.Dialer), now: time.Now, recheck: recheck}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, ModifyResponse: modify, Transport: f.pool.transport,
		FlushInterval: -1, // streams are not buffered
		ErrorLog:      discard, ErrorHandler: f.proxyError,
	}
	return f
}

// Close closes all connections to sandboxes.
func (f *Forwarder) Close() { f.pool.close() }

// Wrap returns a handler that forwards the requests for ports, and leaves all others to
// next. It must see a request before any other handler changes its path, and before the host
// name is checked.
func (f *Forwarder) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			f.fail(w, r, &hop{}, http.StatusMethodNotAllowed, fault.New(fault.Usage, "this server is not a proxy"))
			return
		}
		t, mine, err := f.target(r)
		switch {
		case !mine:
			next.ServeHTTP(w, r)
		case err != nil:
			f.fail(w, r, &hop{target: t}, http.StatusBadRequest, err)
		default:
			f.serve(w, r, t)
		}
	})
}

// ServePort forwards a request of a caller that was authenticated in another way, to a port
// that the request does not name in its path or host name. It is for programs: like
// requests by path, those of browsers are refused.
func (f *Forwarder) ServePort(w http.ResponseWriter, r *http.Request, caller Caller, sandbox string, port uint16) {
	t := target{sandbox: sandbox, port: port, path: r.URL.EscapedPath(), rawQuery: r.URL.RawQuery}
	switch {
	case r.Method == http.MethodConnect || r.URL.Host != "" || !strings.HasPrefix(t.path, "/") || port == 0 || !isID(sandbox):
		f.fail(w, r, &hop{caller: credential{Caller: caller}}, http.StatusBadRequest, fault.New(fault.Usage, "this is not a request for a port of a sandbox"))
	default:
		if err := f.checkBrowser(r, t); err != nil {
			f.fail(w, r, &hop{target: t, caller: credential{Caller: caller}}, http.StatusForbidden, err)
			return
		}
		f.forward(w, r, t, credential{Caller: caller, header: true})
	}
}

// serve authenticates and forwards a request.
func (f *Forwarder) serve(w http.ResponseWriter, r *http.Request, t target) {
	caller, answered, err := f.authenticate(w, r, t)
	switch {
	case err != nil:
		status := http.StatusForbidden
		switch {
		case isMissing(err):
			w.Header().Set("WWW-Authenticate", "Bearer")
			status = http.StatusUnauthorized
		case fault.KindOf(err) == fault.Environment:
			status = http.StatusServiceUnavailable
		}
		f.fail(w, r, &hop{target: t, caller: caller}, status, err)
	case !answered:
		f.forward(w, r, t, caller)
	}
}

// finalWriter omits informational answers (1xx), since modify does not see their headers.
type finalWriter struct{ http.ResponseWriter }

func (w finalWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap lets http.ResponseController find the methods of the writer.
func (w finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recheck is how often a long request is checked again.
const recheck = 30 * time.Second

// forward passes an authenticated request on. It ends when the caller loses its right.
func (f *Forwarder) forward(w http.ResponseWriter, r *http.Request, t target, caller credential) {
	if f.options.Begin != nil {
		done, err := f.options.Begin(caller.Caller)
		if err != nil {
			f.fail(w, r, &hop{target: t, caller: caller}, http.StatusTooManyRequests, err)
			return
		}
		defer done()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go f.watch(ctx, cancel, caller)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a stream has no time limit
	_ = control.SetWriteDeadline(time.Time{})
	h := &hop{target: t, caller: caller}
	if r.Body != nil && r.Body != http.NoBody {
		h.body = &body{ReadCloser: r.Body, control: control, stall: f.options.Stall}
		defer h.body.leave()
		defer context.AfterFunc(ctx, h.body.cut)()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if conn, ok := got.Conn.(*pooledConn); ok {
				conn.carry(h.body)
			}
		}})
	}
	r = r.WithContext(context.WithValue(ctx, hopKey{}, h))
	if h.body != nil {
		r.Body = h.body
	}
	if f.options.Ready != nil {
		if err := f.options.Ready(ctx, caller.Tenant, t.sandbox); err != nil {
			f.proxyError(w, r, err)
			return
		}
	}
	f.proxy.ServeHTTP(finalWriter{w}, r)
}

// watch cancels a request when its credential is no longer valid.
func (f *Forwarder) watch(ctx context.Context, cancel func(), caller credential) {
	tick := time.NewTicker(f.recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			expired := !caller.expires.IsZero() && f.now().After(caller.expires)
			if expired || f.options.Authorizer.Check(ctx, caller.Caller) != nil {
				cancel()
				return
			}
		}
	}
}

// hop holds the facts about a request that the proxy needs.
type hop struct {
	target target
	caller credential
	body   *body // nil if the request has none
}

type hopKey struct{}

func hopOf(r *http.Request) *hop {
	h, _ := r.Context().Value(hopKey{}).(*hop)
	return h
}
