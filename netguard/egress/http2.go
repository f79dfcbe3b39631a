package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"aibox/internal/receivebuffer"
)

// http2Tunnel serves the requests of a decrypted tunnel that speaks HTTP/2. The libraries
// read and write the frames; http2Tunnel decides about each request.
type http2Tunnel struct {
	*tunnel

	log *log.Logger // discards what the libraries print

	mu       sync.Mutex
	closed   bool           // no more handlers may start
	handlers sync.WaitGroup // the library does not wait for them
}

// Bounds of a connection of the sandbox: of its requests, and of the unread bytes of one, for which
// little is enough, since the sandbox is near. The session's limit of requests bounds the sum of all
// connections, and of all responses, of which a server's connection has room for those of its host.
const (
	maxStreams    = 100
	requestBuffer = 64 << 10
)

// serveHTTP2 serves an HTTP/2 connection until it ends.
func (t *tunnel) serveHTTP2(ctx context.Context, conn *tls.Conn) {
	_ = conn.SetDeadline(time.Time{})
	ctx = context.WithValue(ctx, tunnelKey{}, t)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	h := &http2Tunnel{tunnel: t, log: log.New(io.Discard, "", 0)}
	reads := &endingReads{Conn: conn}
	defer reads.end()
	base := &http.Server{ //nolint:gosec // the handlers' times are limited by the flow
		MaxHeaderBytes: maxHead, IdleTimeout: t.proxy.limits.KeepAlive, ErrorLog: h.log,
		HTTP2: receivebuffer.Config(requestBuffer, maxStreams),
	}
	base.HTTP2.MaxConcurrentStreams = min(t.proxy.limits.PerHost, maxStreams)
	new(http2.Server).ServeConn(reads, &http2.ServeConnOpts{Context: ctx, BaseConfig: base, Handler: h}) //nolint:staticcheck // http.Server serves listeners, and this is one open connection
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.handlers.Wait()
}

// endingReads is a connection whose reads end before end returns. The library does not wait for
// its goroutine that reads, whose buffer another connection can have next.
type endingReads struct {
	*tls.Conn

	reading sync.Mutex // held while the library reads
	ended   bool       // belongs to reading
}

func (c *endingReads) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.ended {
		return 0, net.ErrClosed
	}
	return c.Conn.Read(p)
}

// end closes the connection, which ends a read, and waits for that.
func (c *endingReads) end() {
	_ = c.Close()
	c.reading.Lock()
	defer c.reading.Unlock()
	c.ended = true
}

func (t *http2Tunnel) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.handlers.Add(1)
	}
	return !t.closed
}

// ServeHTTP decides about one request and forwards it.
func (t *http2Tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !t.begin() {
		return
	}
	defer t.handlers.Done()
	h := head{method: r.Method, target: r.RequestURI, host: r.Host, hasHost: true, accept: r.Header.Get("Accept")}
	path, to, p := r.URL.EscapedPath(), t.flow.to, t.proxy
	if n := p.http2Requests.Add(1); n > int64(p.limits.Connections) {
		p.http2Requests.Add(-1)
		p.explain(h, to, path, limited("requests", "the session has %d requests of HTTP/2 in progress already, the limit", n-1))
		panic(http.ErrAbortHandler) // not even an answer, which could wait for the client
	}
	defer p.http2Requests.Add(-1)
	problem := t.checkHTTP2(r)
	if problem == nil {
		problem = checkRequest(r)
	}
	if problem != nil {
		p.refuseHTTP2(w, r, p.explain(h, to, path, problem), problem)
		return
	}
	ctx, f, problem := p.begin(r.Context(), &stream{tunnel: to, https: true, once: t.flow.once}, h, path, fieldsOf(r), to)
	if problem != nil {
		p.refuseHTTP2(w, r, p.explain(h, to, path, problem), problem)
		return
	}
	var failed *refusal
	end := f.endCut
	defer func() {
		if why := cause(ctx); why != nil {
			failed = why
		}
		end(failed)
	}()
	reverse := httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { f.rewrite(request) },
		Transport:     flowTransport{f},
		FlushInterval: -1,
		BufferPool:    pieceBuffers{},
		ErrorLog:      t.log,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if failed = cause(ctx); failed == nil {
				failed = unreachable(err)
			}
			end = f.end // this refusal is recorded
			p.refuseHTTP2(w, r, p.explain(h, to, path, failed), failed)
		},
	}
	reverse.ServeHTTP(&finalWriter{w}, r.WithContext(ctx))
}

// checkHTTP2 refuses requests for another host than the tunnel's. A client that reuses
// connections (RFC 9113, section 9.1.1) then opens another one.
func (t *http2Tunnel) checkHTTP2(r *http.Request) *refusal {
	if r.Method == http.MethodConnect {
		return forbid("nested-connect", "a CONNECT request inside a tunnel")
	}
	if !isVisible(r.RequestURI) { // a server of HTTP/1.1 could read another target
		return malformed("bad-target", "the target of the request has a character that no URL has")
	}
	d, problem := parseAuthority(r.Host, portHTTPS)
	switch {
	case problem != nil:
		return problem
	case d != t.flow.to:
		return wrongTunnel(d, t.flow.to, true)
	}
	return nil
}

// refuseHTTP2 sends a refusal.
func (p *Proxy) refuseHTTP2(w http.ResponseWriter, r *http.Request, a refusalBody, problem *refusal) {
	body, kind := a.encode(r.Header.Get("Accept"))
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Proxy-Status", "aibox; error=http_request_denied")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(problem.status)
	_, _ = w.Write(body)
	_ = http.NewResponseController(w).Flush() // the request is in progress until the client takes it
}

// finalWriter drops interim responses, which are not needed and not redacted.
type finalWriter struct{ http.ResponseWriter }

func (w *finalWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rewrite addresses a request to the decided destination and path.
func (f *flow) rewrite(request *httputil.ProxyRequest) {
	out := request.Out
	out.URL.Scheme, out.URL.Host, out.URL.User = "https", f.to.String(), nil
	out.URL.RawQuery = request.In.URL.RawQuery // the library drops what it cannot parse
	f.setPath(out.URL)
	out.Host = strings.TrimSuffix(out.URL.Host, ":443")
	if out.Body != nil && out.Body != http.NoBody {
		out.Body = &countedBody{out.Body, &f.up, nil}
	}
}

// setPath sets the path of the decision.
func (f *flow) setPath(to *url.URL) {
	if f.forward == "" || f.forward == to.EscapedPath() {
		return
	}
	if path, err := url.PathUnescape(f.forward); err == nil { // canonical paths have no invalid escape
		to.Path, to.RawPath = path, f.forward
	}
}

// flowTransport forwards the request of a flow from inside TLS.
type flowTransport struct{ flow *flow }

func (t flowTransport) RoundTrip(out *http.Request) (*http.Response, error) {
	response, err := t.flow.roundTrip(out, true)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		return nil, errors.New("the server switched to a protocol that was not asked for")
	}
	if err == nil {
		response.Body = &countedBody{response.Body, &t.flow.down, t.flow.stop}
	}
	return response, err
}

// roundTrip forwards a request with its flow's context, after the inspector has changed it.
func (f *flow) roundTrip(out *http.Request, https bool) (*http.Response, error) {
	inspector := f.proxy.config.Inspector
	if inspector != nil {
		if err := inspector.Request(f.to, https, out); err != nil {
			return nil, forbid("restricted", "%v", err)
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if conn, ok := unwrapAddressed(info.Conn); ok {
			if late := f.connected(conn.address); late != nil {
				f.stop(late)
			}
		}
	}}
	response, err := f.proxy.transport.RoundTrip(out.WithContext(httptrace.WithClientTrace(out.Context(), trace)))
	if err == nil {
		if problem := checkStatus(response); problem != nil {
			_ = response.Body.Close()
			return nil, problem
		}
	}
	switch {
	case inspector == nil:
		return response, err
	case err != nil:
		return nil, inspector.Error(f.to, https, err)
	}
	if err := inspector.Response(f.to, https, response); err != nil {
		_ = response.Body.Close()
		return nil, forbid("unredacted", "%v", err).withStatus(http.StatusBadGateway)
	}
	return response, nil
}

// countedBody counts the bytes of a body. It passes a refusal that ends the body to stop, since the
// library that forwards the body does not return it.
type countedBody struct {
	io.ReadCloser
	count *atomic.Int64
	stop  func(*refusal) // may be nil
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count.Add(int64(n))
	var problem *refusal
	if b.stop != nil && asRefusal(err, &problem) {
		b.stop(problem)
	}
	return n, err
}
