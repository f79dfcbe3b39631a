// Package gateway is the inference gateway of one session: a streaming reverse proxy
// between an agent that holds a placeholder key and a model server that requires the
// real one. It forwards the inference paths of four API dialects and nothing else,
// counts tokens, and reports its own errors in the format of the dialect. It never
// translates between dialects, never follows a redirect, and never lets the real key
// reach the agent, an event or an error.
//
// A request passes these steps: ServeHTTP checks the path, the key and the session's
// limits; admit reads the body, keeps only what package schema lists, and reserves a part
// of the session's budgets; the reverse proxy sends it to the server of package modelserver
// with the real key; inspect strips the answer's headers, and package usage counts its
// tokens while it streams.
package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/internal/termtext"
	"aibox/netguard"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/price"
	"aibox/netguard/gateway/schema"
	"aibox/netguard/gateway/usage"
)

// Gateway is the handler of one session. It is safe for concurrent use.
type Gateway struct {
	upstream       modelserver.Server
	placeholder    [sha256.Size]byte
	onRequest      func()
	onAnswer       func()
	log            func(Event)
	maxBody        int64
	slots          *slots
	incomingBodies *incomingBodies
	filters        chan struct{}
	endpoints      []endpoint
	models         func() []string
	serverTools    []netguard.ServerTool
	uploadLimit    int64
	tokenLimit     int64
	costLimit      float64
	price          func(model string) (price.Price, bool)
	askMore        func(context.Context, Limit, int64) bool
	asking         chan struct{} // has a value while askMore runs
	patience       time.Duration // how long a request waits for a part of the budgets
	ledger         *ledger
	transport      http.RoundTripper
	proxy          *httputil.ReverseProxy
	secretSets     secretSets
}

const defaultConcurrent = 32 // see Config.Concurrent

// New makes the handler that agents reach on netguard.Address:PortGateway:
//
//	/openai/v1/…  /anthropic/v1/…  /gemini/v1beta/…  /ollama/api/…
//	/v1/…  /v1beta/…  /api/…        the same without a prefix, by path
//	/                              200 without a key, as Ollama answers
//
// GET /aibox/health answers 200 without a key, for the probes. Ollama's own API accepts
// requests without any key, since its clients have none; a wrong key is refused everywhere.
// Serve runs it; Close frees its idle connections.
func New(c Config) (*Gateway, error) {
	if c.Placeholder.Empty() {
		return nil, errors.New("gateway: no placeholder key")
	}
	if c.Upstream.Kind == 0 || len(c.Upstream.Dialects) == 0 {
		return nil, errors.New("gateway: no upstream")
	}
	if err := c.Upstream.CheckKey(); err != nil {
		return nil, err
	}
	if c.Upstream.Kind == modelserver.Scripted {
		c.MaxBody = min(cmp.Or(c.MaxBody, scriptedBody), scriptedBody)
	}
	if c.OnAnswer == nil {
		c.OnAnswer = func() {}
	}
	c.Concurrent = cmp.Or(c.Concurrent, defaultConcurrent)
	transport, err := c.Upstream.Transport(c.Timeout, c.Concurrent)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		upstream:       c.Upstream,
		placeholder:    sha256.Sum256([]byte(c.Placeholder.Reveal())),
		onRequest:      c.OnRequest,
		onAnswer:       c.OnAnswer,
		log:            c.Log,
		maxBody:        cmp.Or(c.MaxBody, 32<<20),
		slots:          newSlots(c.Concurrent),
		incomingBodies: newIncomingBodies(cmp.Or(c.MaxBody, 32<<20)),
		filters:        make(chan struct{}, filters),
		endpoints:      endpoints(),
		models:         c.Models,
		serverTools:    c.ServerTools,
		uploadLimit:    c.UploadLimit,
		tokenLimit:     c.TokenLimit,
		costLimit:      c.CostLimit,
		price:          c.Price,
		askMore:        c.AskMore,
		asking:         make(chan struct{}, 1),
		patience:       budgetPatience,
		ledger:         newLedger(),
		transport:      transport,
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      retrier{transport, new(atomic.Bool)},
		FlushInterval:  -1, // each piece of a stream at once
		ModifyResponse: g.inspect,
		ErrorHandler:   g.fail,
		ErrorLog:       discardLogger(),
		BufferPool:     newBuffers(),
	}
	return g, nil
}

// Close frees idle connections to the upstream.
func (g *Gateway) Close() {
	if transport, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		transport.CloseIdleConnections()
	}
}

// ServeHTTP answers one request of the agent.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.IsAbs() || r.Method == http.MethodConnect {
		problem{status: http.StatusBadRequest, message: "this is the inference gateway, not a proxy"}.write(w, schema.OpenAI)
		return
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		switch r.URL.Path {
		case "/", "/aibox/health":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintln(w, "aibox inference gateway is running")
			return
		}
	}
	dialect, path := target(r)
	call := &call{
		event:    Event{Time: time.Now(), Dialect: dialect, Method: truncate(r.Method, 16), Path: truncate(path, 256), Model: modelInPath(dialect, path)},
		endpoint: g.endpoint(dialect, r.Method, path),
		path:     path,
		writer:   &statusWriter{ResponseWriter: w},
		onAnswer: g.onAnswer,
	}
	call.usage = usage.New(dialect, call.api())
	call.event.Generates = generates(r.Method, path)
	call.event.Spends = call.spends()
	call.begin = sync.OnceFunc(func() {
		if call.event.Generates && g.onRequest != nil {
			g.onRequest()
		}
	})
	if g.authorized(r, dialect) {
		g.awaitBudget(r.Context(), call)
	}
	defer g.finish(call)
	if refusal := g.check(r, call); refusal != nil {
		g.refuse(call, *refusal)
		return
	}
	incomingBody := g.incomingBodies.begin(r, w)
	defer incomingBody.release()
	r.Body = incomingBody
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), callKey{}, call))
	defer cancel(nil)
	slot := g.slots.take(func() { cancel(errStalled); incomingBody.interrupt(); call.writer.interrupt() })
	if slot == nil {
		g.refuse(call, problem{status: http.StatusTooManyRequests, message: fmt.Sprintf("more than %d requests at a time", g.slots.limit)})
		return
	}
	defer g.slots.release(slot)
	incomingBody.slot, call.writer.slot = slot, slot
	if refusal, err := g.admit(r, call); err != nil {
		call.recordAbandoned()
		return
	} else if refusal != nil {
		g.refuse(call, *refusal)
		return
	}
	defer r.Body.Close()
	defer call.body.release()
	call.begin()
	g.proxy.ServeHTTP(call.writer, r.WithContext(ctx))
}

// refuse answers without contacting the upstream, and does not wait long for the rest of
// the request's body.
func (g *Gateway) refuse(c *call, refusal problem) {
	_ = http.NewResponseController(c.writer).SetReadDeadline(time.Now().Add(refusedPause))
	c.event.Error, c.event.Outcome = refusal.message, Refused
	if refusal.status == http.StatusTooManyRequests {
		c.event.Outcome = Busy
	}
	refusal.write(c.writer, c.event.Dialect)
}

// check returns the reason why a request is refused, or nil.
func (g *Gateway) check(r *http.Request, c *call) *problem {
	dialect := c.event.Dialect
	switch {
	case r.Header.Get("Upgrade") != "":
		return &problem{status: http.StatusNotFound, message: "the gateway speaks no WebSocket; use HTTP with server-sent events"}
	case !g.authorized(r, dialect):
		return &problem{status: http.StatusUnauthorized, message: "this is aibox's inference gateway: it takes only the key that the session was given, which aibox swaps for the real one"}
	case c.endpoint == nil:
		return &problem{status: http.StatusNotFound, message: fmt.Sprintf("%s %s is not one of the inference calls that aibox lets through", c.event.Method, termtext.Escape(c.event.Path))}
	case !g.upstream.Speaks(dialect):
		return &problem{status: http.StatusNotFound, message: fmt.Sprintf("the model server %s does not speak the %s API; choose another with aibox run --inference, or an agent that speaks %s", g.upstream.Name, dialect, g.upstream.DialectNames())}
	case r.ContentLength > g.maxBody:
		return g.tooLarge()
	}
	if refusal := g.checkModelInPath(c); refusal != nil {
		return refusal
	}
	return g.checkBudget(c)
}

// authorized compares every credential in the request: all must be the placeholder, so that
// no other key is used in the sandbox unnoticed.
func (g *Gateway) authorized(r *http.Request, dialect schema.Dialect) bool {
	keys := append(r.Header["X-Api-Key"], r.Header["X-Goog-Api-Key"]...)
	keys = append(keys, r.URL.Query()["key"]...)
	for _, value := range r.Header["Authorization"] {
		scheme, key, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return false
		}
		keys = append(keys, strings.TrimSpace(key))
	}
	right := 1
	for _, key := range keys {
		sum := sha256.Sum256([]byte(key))
		right &= subtle.ConstantTimeCompare(sum[:], g.placeholder[:])
	}
	return right == 1 && (len(keys) > 0 || dialect == schema.Ollama)
}

// rewrite builds the upstream's request only from allowed parts.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	c := callOf(r.In.Context())
	base := g.upstream.Base()
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = base.Scheme, base.Host, base.Host
	r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimSuffix(base.Path, "/")+c.path, ""
	r.Out.URL.RawQuery = c.head.query
	header := c.head.header
	if c.endpoint.body != 0 {
		header.Set("Content-Type", "application/json") // the body is the gateway's own
	}
	c.event.LeftOut = append(c.head.leftOut, c.event.LeftOut...)
	header.Set("Accept-Encoding", "identity") // compressed answers could not be read for their usage
	if _, ok := header["User-Agent"]; !ok {
		header.Set("User-Agent", "aibox")
	}
	ctx := modelserver.WithCall(r.Out.Context(), modelserver.Call{Dialect: c.event.Dialect, Model: c.event.Model, Streams: c.streams})
	r.Out = r.Out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.connected.Store(true) }}))
	r.Out.Header = header
	r.Out.Trailer = nil
}

// fail answers if the upstream did not.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r.Context())
	answer := problem{status: http.StatusBadGateway}
	c.event.Outcome = Broken
	switch {
	case r.Context().Err() != nil:
		c.recordAbandoned()
		return
	case errors.Is(err, errRedirect), errors.Is(err, errEncoded), errors.Is(err, errStatus), errors.Is(err, errProxy):
		answer.message = fmt.Sprintf("%s: %s", g.upstream.Name, err)
		c.event.Outcome = Refused
	case errors.Is(err, modelserver.ErrUnserved):
		answer = problem{status: http.StatusNotFound, message: fmt.Sprintf("%s does not serve %s %s", g.upstream.Name, c.event.Method, termtext.Escape(c.event.Path))}
		c.event.Outcome = Refused
	default:
		why := g.upstream.Explain(err)
		answer.message = strings.Join(append([]string{why.Message}, why.Hints...), ": ")
	}
	c.event.Error = answer.message
	answer.write(w, c.event.Dialect)
}

// finish logs the request.
func (g *Gateway) finish(c *call) {
	c.begin()
	c.event.Millis = time.Since(c.event.Time).Milliseconds()
	c.event.Status = cmp.Or(c.event.Status, c.writer.status, http.StatusOK)
	c.event.count(c.usage.Counts())
	secrets := g.secrets()
	c.classify(secrets)
	c.event.Uncounted = c.event.Generates && c.usage.Pieces() > 0 && !c.usage.Reported()
	c.event.Error = secrets.Text(c.event.Error)
	g.ledger.answer(c.usage.ID())
	g.spend(c)
	c.event.Model = truncate(c.event.Model, 128)
	c.event.LeftOut = g.ledger.unlogged(c.event.LeftOut)
	if g.log != nil {
		g.log(c.event)
	}
}
