package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"aibox/netguard"
)

// newTransport returns the transport that forwards requests. It dials by the flow in the
// request's context, follows no redirect, and knows no other proxy.
func newTransport(p *Proxy) *http.Transport {
	return &http.Transport{
		DialContext:            p.dialForTransport,
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// dialForTransport connects to the destination of the flow in ctx, which must be the one
// that the transport asks for.
func (p *Proxy) dialForTransport(ctx context.Context, _, address string) (net.Conn, error) {
	f := flowOf(ctx)
	to, err := netguard.ParseDestination(address)
	if err != nil || f == nil || f.to != to {
		return nil, fmt.Errorf("a connection to %s that was not decided", address)
	}
	conn, addr := takeSpare(ctx, to)
	if conn == nil {
		if conn, addr, err = p.dialer.dial(ctx, to, f.checkAddress); err != nil {
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
	ctx, f, problem := p.begin(ctx, s, h, path, request.Header, to)
	if problem != nil {
		return p.refuse(s, h, to, path, problem, keepAlive)
	}
	f.up.Add(size)
	e := &exchange{proxy: p, stream: s, flow: f, request: request}
	problem = e.run(ctx)
	f.end(problem)
	if problem != nil && !e.begun {
		return p.refuse(s, h, to, path, problem, e.reusable)
	}
	return problem == nil && e.reusable
}

// checkRequest refuses what is never forwarded.
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
	begun    bool // the response has begun
	reusable bool // the client can send another request
}

// run forwards the request and returns why the proxy refused or cut it, or nil.
func (e *exchange) run(ctx context.Context) *refusal {
	out, body := e.outgoing(ctx)
	defer body.stop()
	response, err := e.flow.roundTrip(out, e.stream.https)
	if err != nil {
		e.reusable = !e.request.Close && body.stop()
		return e.failure(ctx, err)
	}
	defer response.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = response.Body.Close(); _ = e.stream.conn.SetWriteDeadline(time.Unix(1, 0)) })()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return e.upgrade(ctx, response)
	}
	err = e.respond(response, body)
	if why := cause(ctx); why != nil {
		return why
	}
	var problem *refusal
	asRefusal(err, &problem)
	return problem
}

// cause returns why the proxy ended a flow, or nil.
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
	return unreachable(e.flow.to, err)
}

// unreachable returns the refusal for a destination that is allowed but does not answer.
func unreachable(to netguard.Destination, err error) *refusal {
	var problem *refusal
	if asRefusal(err, &problem) {
		return problem
	}
	status := http.StatusBadGateway
	if isTimeout(err) {
		status = http.StatusGatewayTimeout
	}
	return &refusal{status: status, code: "unreachable", reason: fmt.Sprintf("%s is allowed, but cannot be reached: %v", to, err)}
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
	websocket := httpguts.HeaderValuesContainsToken(in.Header["Connection"], "upgrade") && strings.EqualFold(in.Header.Get("Upgrade"), "websocket")
	trailers := httpguts.HeaderValuesContainsToken(in.Header["Te"], "trailers")
	removeHopByHop(out.Header)
	if websocket {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
	if trailers {
		out.Header.Set("Te", "trailers")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // else the transport adds its own
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

// requestBody reads the client's body. If the client waits for "100 Continue", the first
// Read sends it.
type requestBody struct {
	exchange *exchange
	body     io.ReadCloser
	trailer  http.Header // to forward, with the names that the client has declared
	expects  bool

	reading  sync.Mutex // held while the transport reads
	complete bool       // belongs to reading

	deadline sync.Mutex
	stopped  bool // belongs to deadline
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if !b.extend() {
		return 0, net.ErrClosed
	}
	s := b.exchange.stream
	if b.expects {
		b.expects = false
		_ = s.conn.SetWriteDeadline(time.Now().Add(b.exchange.proxy.limits.Header))
		if _, err := io.WriteString(s.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return 0, err
		}
	}
	n, err := b.body.Read(p)
	b.exchange.flow.up.Add(int64(n))
	if errors.Is(err, io.EOF) {
		b.complete = true
		for name := range b.trailer {
			b.trailer[name] = b.exchange.request.Trailer[name]
		}
	}
	return n, err
}

// extend gives the next read its time. It reports false after stop.
func (b *requestBody) extend() bool {
	b.deadline.Lock()
	defer b.deadline.Unlock()
	if !b.stopped {
		_ = b.exchange.stream.conn.SetReadDeadline(time.Now().Add(b.exchange.proxy.limits.Idle))
	}
	return !b.stopped
}

// stop ends a read that is under way and every later one, so that the stream can be used
// again. It reports whether the body was read to its end. A nil body was.
func (b *requestBody) stop() (complete bool) {
	if b == nil {
		return true
	}
	b.deadline.Lock()
	b.stopped = true
	_ = b.exchange.stream.conn.SetReadDeadline(time.Unix(1, 0))
	b.deadline.Unlock()
	b.reading.Lock()
	defer b.reading.Unlock()
	return b.complete
}

// Close does nothing: the connection is closed after the response if the body has a rest.
func (b *requestBody) Close() error { return nil }

// respond sends the response to the client.
func (e *exchange) respond(response *http.Response, body *requestBody) error {
	e.begun = true
	w := bufio.NewWriterSize(&deadlineWriter{e}, 4<<10)
	modern := e.request.ProtoAtLeast(1, 1)
	trailers := slices.Sorted(maps.Keys(response.Trailer))
	removeHopByHop(response.Header)
	hasBody := e.request.Method != http.MethodHead && response.StatusCode >= 200 && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusNotModified
	chunked := hasBody && response.ContentLength < 0 && modern
	keep := !e.request.Close && body.stop() && (modern || response.ContentLength >= 0 || !hasBody)
	fmt.Fprintf(w, "HTTP/1.1 %03d %s\r\n", response.StatusCode, reasonPhrase(response))
	if hasBody && response.ContentLength >= 0 {
		response.Header.Set("Content-Length", fmt.Sprint(response.ContentLength))
	}
	_ = response.Header.Write(w)
	if chunked {
		_, _ = io.WriteString(w, "Transfer-Encoding: chunked\r\n")
		if len(trailers) > 0 {
			fmt.Fprintf(w, "Trailer: %s\r\n", strings.Join(trailers, ", "))
		}
	}
	if keep {
		_, _ = io.WriteString(w, "Connection: keep-alive\r\n\r\n")
	} else {
		_, _ = io.WriteString(w, "Connection: close\r\n\r\n")
	}
	if hasBody && response.ContentLength < 0 { // what follows may take long
		_ = w.Flush()
	}
	if err := e.sendBody(w, response, hasBody, chunked); err != nil {
		return err
	}
	e.reusable = keep
	return nil
}

func reasonPhrase(response *http.Response) string {
	_, phrase, _ := strings.Cut(response.Status, " ")
	return printable(phrase)
}

func (e *exchange) sendBody(w *bufio.Writer, response *http.Response, hasBody, chunked bool) error {
	if !hasBody {
		return w.Flush()
	}
	if !chunked {
		if _, err := io.Copy(&flushWriter{w, w}, response.Body); err != nil {
			return err
		}
		return w.Flush()
	}
	chunks := httputil.NewChunkedWriter(w)
	if _, err := io.Copy(&flushWriter{chunks, w}, response.Body); err != nil {
		return err
	}
	_ = chunks.Close()
	_ = response.Trailer.Write(w)
	_, _ = io.WriteString(w, "\r\n")
	return w.Flush()
}

// flushWriter sends each piece at once, so that streams of events are not delayed.
type flushWriter struct {
	to     io.Writer
	buffer *bufio.Writer
}

func (w *flushWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err == nil {
		err = w.buffer.Flush()
	}
	return n, err
}

// deadlineWriter writes to the client, counts, and gives up on one that does not read.
type deadlineWriter struct{ exchange *exchange }

func (w *deadlineWriter) Write(p []byte) (int, error) {
	conn := w.exchange.stream.conn
	_ = conn.SetWriteDeadline(time.Now().Add(w.exchange.proxy.limits.Idle))
	n, err := conn.Write(p)
	w.exchange.flow.down.Add(int64(n))
	return n, err
}

// upgrade passes a WebSocket through: the response's body is the connection.
func (e *exchange) upgrade(ctx context.Context, response *http.Response) *refusal {
	upstream, ok := response.Body.(io.ReadWriteCloser)
	if !ok || !strings.EqualFold(response.Header.Get("Upgrade"), "websocket") || e.request.Header.Get("Upgrade") == "" {
		return forbid("upgrade", "the server switched to a protocol that was not asked for").withStatus(http.StatusBadGateway)
	}
	e.begun = true
	var w strings.Builder
	fmt.Fprintf(&w, "HTTP/1.1 101 Switching Protocols\r\n")
	removeHopByHop(response.Header)
	response.Header.Set("Connection", "Upgrade")
	response.Header.Set("Upgrade", "websocket")
	_ = response.Header.Write(&w)
	w.WriteString("\r\n")
	if _, err := io.WriteString(&deadlineWriter{e}, w.String()); err != nil {
		return nil
	}
	return e.proxy.relay(ctx, e.flow, &bufferedConn{Conn: e.stream.conn, stream: e.stream}, upstream, false)
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
