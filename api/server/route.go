package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/store"
	"aibox/session"
)

// Route is a route that is not a method of the schema.
type Route struct {
	// Pattern is that of http.ServeMux, such as "GET /v1/sandboxes/{id}/ports/{port}/".
	Pattern string
	// Right is the right that the caller needs.
	Right aiboxv1.Right
	// Authenticate finds the caller, for routes that accept tokens outside the header
	// Authorization; see ByToken. Nil means as for all calls.
	Authenticate func(r *http.Request) (auth.Caller, error)
	// Public routes have no caller and no right. They must not reveal anything.
	Public bool
	// Browser reports whether a request may be made by a web page of another origin. The handler must
	// be safe for it. Nil permits none.
	Browser func(r *http.Request) bool
	// Host reports whether the route has a host name, in place of the names of the server. Nil
	// means these names.
	Host func(host string) bool
	// Upload permits a body of any size, which the handler bounds.
	Upload  bool
	Handler http.Handler

	checked   bool // the handler checks rights itself
	localOnly bool // only the machine's user
}

// Handle adds a route.
func (s *Server) Handle(route Route) {
	if !route.Public && !route.checked && route.Right == aiboxv1.Right_RIGHT_UNSPECIFIED {
		panic("the route " + route.Pattern + " has no right")
	}
	s.mux.Handle(route.Pattern, s.guard(route))
}

// Guard returns the handler of a route whose requests Wrap finds by their host name, so that
// it has no path. Its pattern names it in the metrics.
func (s *Server) Guard(route Route) http.Handler {
	if route.Host == nil {
		panic("the route " + route.Pattern + " has no host name")
	}
	return s.guard(route)
}

// ByToken returns the caller that has a token.
func (s *Server) ByToken(ctx context.Context, token string) (auth.Caller, error) {
	if s.options.Tokens == nil {
		return auth.Caller{}, errUnauthenticated
	}
	caller, err := s.options.Tokens.Authenticate(ctx, token)
	return caller, s.tokenError(ctx, err)
}

// tokenError returns the error for a token that cannot be found. If the database fails, nobody knows
// whether the token is valid: a program must not take it for one that was revoked.
func (s *Server) tokenError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnauthenticated):
		return errUnauthenticated
	case ctx.Err() != nil:
		return err
	}
	s.options.Log.Error("a token cannot be checked", "request", requestID(ctx), "error", err)
	return errTokens
}

// Enter admits a request of a public route that makes calls for its caller: it checks the caller's
// token, and counts the request as one of its tenant until done is called. ctx carries the caller, and is
// for its calls, whose answers count as well; see budget.Reserve. With collects, the handler holds the
// body in memory, so that what has arrived counts among the messages of the tenant: reading it can fail
// with a Limit fault. The handler calls Enter before it reads the body. A refusal is recorded.
func (s *Server) Enter(r *http.Request, token string, collects bool) (ctx context.Context, done func(), err error) {
	caller, err := s.ByToken(r.Context(), token)
	var end func()
	if err == nil {
		end, err = s.entered.begin(caller.Tenant)
	}
	if err != nil {
		s.record(r.Context(), Call{Tenant: caller.Tenant, Token: caller.Token, Method: requestOf(r.Context()).method, Err: err})
		return nil, nil, toConnect(r.Context(), err)
	}
	release := s.limitMessages(collects, r, caller.Tenant)
	ctx, free := s.answers.With(auth.With(r.Context(), caller), caller.Tenant)
	return ctx, func() { free(); release(); end() }, nil
}

// localKey marks the context of a connection from the machine's user.
type localKey struct{}

// WithLocal returns a context for connections known to be from the machine's user: on the
// Unix socket, or within this process.
func WithLocal(ctx context.Context) context.Context {
	return context.WithValue(ctx, localKey{}, true)
}

// insideKey marks the context of a connection within this process.
type insideKey struct{}

// WithinProcess returns a context for connections that this process makes to its own server
// for callers with a token. Their Host names nothing, so it is not checked.
func WithinProcess(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideKey{}, true)
}

// callerKey marks the context of a connection of a caller that is known without a token.
type callerKey struct{}

// WithCaller returns a context for connections within this process of a caller that is known
// from elsewhere, such as the socket on which its request came.
func WithCaller(ctx context.Context, caller auth.Caller) context.Context {
	return context.WithValue(WithinProcess(ctx), callerKey{}, caller)
}

// isWithinProcess reports whether this process made a connection.
func isWithinProcess(ctx context.Context) bool { return ctx.Value(insideKey{}) != nil }

// isLocal reports whether a connection is from the machine's user.
func isLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// authenticate finds the caller of a request. A token that is given must be valid, also on
// the Unix socket.
func (s *Server) authenticate(r *http.Request) (auth.Caller, error) {
	given := r.Header.Values("Authorization")
	known, isKnown := r.Context().Value(callerKey{}).(auth.Caller)
	switch {
	case len(given) == 0 && isKnown:
		return known, nil
	case len(given) == 0 && isLocal(r.Context()):
		return auth.Local(), nil
	case len(given) != 1:
		return auth.Caller{}, errUnauthenticated
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Caller{}, errUnauthenticated
	}
	return s.ByToken(r.Context(), token)
}

// requestHeader is the header with the id of a request.
const requestHeader = "Aibox-Request-Id"

// identify returns a request with its facts, which it has already if it came through Serve.
func (s *Server) identify(r *http.Request) *http.Request {
	if requestID(r.Context()) != "" {
		return r
	}
	id := strings.ToLower(rand.Text()[:16])
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, &request{id: id, method: r.Method + " " + r.URL.Path, server: s, host: r.Host, tls: r.TLS != nil}))
}

// guard wraps the handler of a route.
func (s *Server) guard(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		r = s.identify(r)
		w.Header().Set(requestHeader, requestID(r.Context()))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		out := &responseWriter{ResponseWriter: w, stall: s.options.Limits.Stall}
		if r.Body != nil && r.Body != http.NoBody {
			body := newBodyReader(w, r, s.options.Limits.Stall)
			if !route.Upload && !isUpload(r.URL.Path) {
				body.limit = 2 * s.options.Limits.Message // the message's own limit is checked when it is read
			}
			if route.Public && !route.Upload { // calls of nobody are not limited, so each has little time
				body.until = begin.Add(s.options.Limits.Stall)
			}
			r.Body = body
			requestOf(r.Context()).body = body
			defer body.end()
		}
		defer func() {
			if reason := recover(); reason != nil {
				if reason == http.ErrAbortHandler { //nolint:errorlint // a panic's value
					panic(reason)
				}
				err := s.recovered(r.Context(), reason)
				if !out.wrote {
					WriteError(out, r, err)
				}
			}
			s.recordFailure(r, out.status)
			s.metrics.observe(route.Pattern, out.status, time.Since(begin))
		}()
		s.serve(&route, out, r)
	})
}

// serve authenticates, limits and serves a request.
func (s *Server) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(route, r); err != nil {
		s.refuse(w, r, auth.Caller{}, err)
		return
	}
	if route.Public {
		route.Handler.ServeHTTP(w, r)
		return
	}
	authenticate := s.authenticate
	if route.Authenticate != nil {
		authenticate = route.Authenticate
	}
	caller, err := authenticate(r)
	if err == nil && caller.Tenant == "" {
		err = errUnauthenticated
	}
	if err != nil {
		if route.Authenticate == nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="aibox"`)
		}
		s.refuse(w, r, auth.Caller{}, err)
		return
	}
	requestOf(r.Context()).caller = caller
	r = r.WithContext(auth.With(r.Context(), caller))
	if route.localOnly && caller.Tenant != session.LocalTenant {
		s.refuse(w, r, caller, errNoRoute(r))
		return
	}
	if !route.checked {
		if err := caller.Check(route.Right); err != nil {
			s.refuse(w, r, caller, err)
			return
		}
	}
	done, err := s.calls.begin(caller.Tenant)
	if err != nil {
		s.refuse(w, r, caller, err)
		return
	}
	defer done()
	defer s.limitMessages(!route.Upload, r, caller.Tenant)()
	valid, end := s.whileValid(r.Context(), caller)
	defer end()
	ctx, free := s.answers.With(valid, caller.Tenant)
	defer free()
	route.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// limitMessages makes the messages of a request count until release is called, if its handler
// collects them in memory.
func (s *Server) limitMessages(collects bool, r *http.Request, tenant session.Tenant) (release func()) {
	body := requestOf(r.Context()).body
	if body == nil || !collects {
		return func() {}
	}
	body.messages = s.messages.Call(tenant)
	return func() {
		body.end() // a goroutine of the handler may still read
		body.messages.Release()
	}
}

// refuse records a refusal and writes it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, caller auth.Caller, err error) {
	s.record(r.Context(), Call{Tenant: caller.Tenant, Token: caller.Token, Method: r.Method + " " + r.URL.Path, Err: err})
	WriteError(w, r, err)
}

// recovered logs a panic of a handler and returns the error for its caller, without the
// stack.
func (s *Server) recovered(ctx context.Context, reason any) error {
	err := fmt.Errorf("panic: %v", reason)
	s.options.Log.Error("a handler failed", "request", requestID(ctx), "error", err, "stack", string(debug.Stack()))
	return errInternal
}
