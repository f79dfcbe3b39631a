package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"aibox/internal/receivebuffer"
	"aibox/netguard"
)

// newTransport returns the transport that forwards requests. It dials by the flow in the
// request's context, follows no redirect, and uses no other proxy.
func newTransport(p *Proxy) *http.Transport {
	return &http.Transport{
		DialContext:            p.dialForTransport,
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		HTTP2:                  receivebuffer.Config(receivebuffer.Response, p.limits.PerHost),
	}
}

// dialForTransport connects to the destination of the flow in ctx, which must be the one
// that the transport requests.
func (p *Proxy) dialForTransport(ctx context.Context, _, address string) (net.Conn, error) {
	f := flowOf(ctx)
	to, err := netguard.ParseDestination(address)
	if err != nil || f == nil || f.to != to {
		return nil, fmt.Errorf("a connection to %s that was not decided", address)
	}
	conn, addr := takeSpare(ctx, to)
	if conn == nil {
		if conn, addr, err = f.dial(ctx); err != nil {
			return nil, err
		}
	}
	return &meteredConn{Conn: &addressedConn{conn, addr}, host: to.Host, budget: p.budget}, nil
}

// serveForward decides about a plain or decrypted request and forwards it. It reports
// whether the client can send another.
func (p *Proxy) serveForward(ctx context.Context, s *stream, h head, to netguard.Destination, request *http.Request, size int64) bool {
	path := request.URL.EscapedPath()
	keepAlive := !request.Close && request.ContentLength == 0
	if problem := checkRequest(request); problem != nil {
		return p.refuse(s, h, to, path, problem, keepAlive)
	}
	ctx, f, problem := p.begin(ctx, s, h, path, fieldsOf(request), to)
	if problem != nil {
		return p.refuse(s, h, to, path, problem, keepAlive)
	}
	f.up.Add(size)
	e := &exchange{proxy: p, stream: s, flow: f, request: request}
	problem = e.run(ctx)
	if problem != nil && !e.begun {
		f.end(problem)
		return p.refuse(s, h, to, path, problem, e.reusable)
	}
	f.endCut(problem)
	return problem == nil && e.reusable
}

// fieldsOf returns the header fields of a request, and those that it announces as trailers,
// because some servers make no difference. Only announced ones are forwarded.
func fieldsOf(request *http.Request) http.Header {
	if len(request.Trailer) == 0 {
		return request.Header
	}
	fields := maps.Clone(request.Header)
	maps.Copy(fields, request.Trailer)
	return fields
}

// checkRequest refuses requests that are never forwarded.
func checkRequest(request *http.Request) *refusal {
	if request.Method == http.MethodTrace {
		return forbid("trace", "TRACE would return what the proxy adds to requests").withStatus(http.StatusMethodNotAllowed)
	}
	if expect := request.Header.Get("Expect"); expect != "" && !strings.EqualFold(expect, "100-continue") {
		return malformed("expectation", "the only expectation that the proxy knows is 100-continue").withStatus(http.StatusExpectationFailed)
	}
	return nil
}

// exchange is one request and its response.
type exchange struct {
	proxy    *Proxy
	stream   *stream
	flow     *flow
	request  *http.Request
	upgrades bool // the client asks for a WebSocket
	begun    bool // the response has begun
	watch    clientWatch
	gone     atomic.Bool // the client has closed its connection
	reusable bool        // the client can send another request
}

// run forwards the request and returns the reason why the proxy refused or cut it, or nil.
func (e *exchange) run(ctx context.Context) *refusal {
	e.watch = clientWatch{stream: e.stream, gone: func() { e.gone.Store(true); e.flow.cancel(nil) }}
	out, body := e.outgoing(ctx)
	defer body.stop()
	defer e.watch.end()
	if body == nil {
		e.watch.begin()
	}
	response, err := e.flow.roundTrip(out, e.stream.https)
	if err != nil && e.gone.Load() {
		e.begun = true // nobody reads an answer
		return nil
	}
	if err != nil {
		e.watch.end()
		e.reusable = !e.request.Close && body.stop()
		return e.failure(ctx, err)
	}
	defer response.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = response.Body.Close(); _ = e.stream.conn.SetWriteDeadline(time.Unix(1, 0)) })()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return e.upgrade(ctx, response, body)
	}
	err = e.respond(response, body)
	if why := cause(ctx); why != nil {
		return why
	}
	var problem *refusal
	asRefusal(err, &problem)
	return problem
}

// cause returns the reason why the proxy ended a flow, or nil.
func cause(ctx context.Context) *refusal {
	var problem *refusal
	if ctx.Err() != nil && asRefusal(context.Cause(ctx), &problem) {
		return problem
	}
	return nil
}

// failure returns the refusal for an error of the transport.
func (e *exchange) failure(ctx context.Context, err error) *refusal {
	if why := cause(ctx); why != nil {
		return why
	}
	return unreachable(err)
}

// unreachable returns the refusal for a destination that is allowed but does not answer.
func unreachable(err error) *refusal {
	var problem *refusal
	if asRefusal(err, &problem) {
		return problem
	}
	status := http.StatusBadGateway
	if isTimeout(err) {
		status = http.StatusGatewayTimeout
	}
	return &refusal{status: status, code: "unreachable", reason: "it is allowed, but cannot be reached: " + failureText(err)}
}

// failureText returns an error of the network as text for the sandbox: without addresses of this
// machine and of its name servers.
func failureText(err error) string {
	var lookup *net.DNSError
	switch operation := (*net.OpError)(nil); {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no such host"
	case errors.As(err, &lookup) && lookup.IsTimeout:
		return "its name was not resolved in time"
	case errors.As(err, &lookup):
		return "its name cannot be resolved"
	case errors.As(err, &operation) && (operation.Addr != nil || operation.Source != nil):
		return operation.Err.Error()
	}
	return err.Error()
}

// hopByHop are the fields that belong to one connection (RFC 9110, section 7.6.1).
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func removeHopByHop(header http.Header) {
	for _, value := range header["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		header.Del(name)
	}
}

// outgoing returns the request to forward, written from the decided destination, and its
// body.
func (e *exchange) outgoing(ctx context.Context) (*http.Request, *requestBody) {
	in := e.request
	out := in.Clone(ctx)
	out.RequestURI = ""
	e.flow.setPath(out.URL)
	out.URL.Scheme, out.URL.Host, out.URL.User = "http", e.flow.to.String(), nil
	usual := uint16(portHTTP)
	if e.stream.https {
		out.URL.Scheme, usual = "https", portHTTPS
	}
	out.Host = out.URL.Host
	if e.flow.to.Port == usual {
		out.Host = strings.TrimSuffix(out.Host, fmt.Sprintf(":%d", usual))
	}
	out.Close = false
	e.upgrades = httpguts.HeaderValuesContainsToken(in.Header["Connection"], "upgrade") && strings.EqualFold(in.Header.Get("Upgrade"), "websocket")
	trailers := httpguts.HeaderValuesContainsToken(in.Header["Te"], "trailers")
	removeHopByHop(out.Header)
	if e.upgrades {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
	if trailers {
		out.Header.Set("Te", "trailers")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // otherwise the transport adds its own
	}
	if in.ContentLength == 0 {
		out.Body = http.NoBody
		return out, nil
	}
	out.Trailer.Del("Host")
	body := &requestBody{exchange: e, body: in.Body, trailer: out.Trailer, expects: in.Header.Get("Expect") != ""}
	out.Body = body
	return out, body
}

// addressedConn is a connection whose checked address is known.
type addressedConn struct {
	net.Conn
	address netip.Addr
}

func unwrapAddressed(conn net.Conn) (*addressedConn, bool) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	metered, ok := conn.(*meteredConn)
	if !ok {
		return nil, false
	}
	addressed, ok := metered.Conn.(*addressedConn)
	return addressed, ok
}
