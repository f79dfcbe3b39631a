package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aibox/netguard"
)

// Proxy is the HTTP proxy of one session.
type Proxy struct {
	config    Config
	limits    Limits
	dialer    dialer
	transport *http.Transport
	budget    *budget
	recorder  recorder

	http2Requests atomic.Int64 // in progress
	turnedAway    atomic.Int64 // connections that turnAway reads

	mu      sync.Mutex
	policy  *netguard.Matcher
	flows   map[*flow]struct{}
	perHost map[netguard.Host]int
	clients map[*client]struct{}
	held    map[netguard.Destination]*heldRequests
	waiting int            // requests in held
	asking  sync.WaitGroup // calls of Config.Ask
}

// New returns a proxy that serves nothing yet.
func New(config Config) *Proxy {
	p := &Proxy{
		config: config, limits: config.Limits.withDefaults(), budget: newBudget(config.Budgets),
		recorder: newRecorder(config.Record),
		policy:   config.Policy,
		flows:    map[*flow]struct{}{}, perHost: map[netguard.Host]int{}, clients: map[*client]struct{}{}, held: map[netguard.Destination]*heldRequests{},
	}
	if p.policy == nil {
		p.policy = &netguard.Matcher{}
	}
	p.dialer = dialer{resolver: config.Resolver, connect: config.Dial, own: ownAddresses{list: net.InterfaceAddrs, more: config.Own}, nat64: &nat64{}, timeout: p.limits.Dial}
	if p.dialer.resolver == nil {
		p.dialer.resolver = net.DefaultResolver
	}
	p.transport = newTransport(p)
	if config.Inspector != nil {
		config.Inspector.Transport(p.transport)
	}
	return p
}

// Transferred returns the number of bytes that passed to and from hosts, without the names that
// were resolved. Safe for concurrent use.
func (p *Proxy) Transferred() int64 { return p.budget.transferred() }

// SetPolicy replaces the policy and closes the connections that the new one does not allow.
// It returns how many requests and tunnels it ended. Safe for concurrent use.
func (p *Proxy) SetPolicy(policy *netguard.Matcher) (closed int) {
	if policy == nil {
		policy = &netguard.Matcher{}
	}
	p.mu.Lock()
	p.policy = policy
	for f := range p.flows {
		if problem := f.recheck(); problem != nil {
			closed++
			f.stop(problem)
		}
	}
	p.mu.Unlock()
	p.transport.CloseIdleConnections()
	return closed
}

// Serve answers on listener until ctx ends, then closes it and all connections, waits for
// its goroutines and returns nil. It can be called for several listeners.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	defer p.recorder.close()
	defer p.transport.CloseIdleConnections()
	var wait sync.WaitGroup
	defer p.asking.Wait()
	defer wait.Wait()
	defer cancel()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			if pause(ctx, err) {
				continue
			}
			return err
		}
		c, problem := p.admit(conn)
		if problem != nil {
			p.turnAway(ctx, &wait, conn, problem)
			continue
		}
		wait.Go(func() {
			growStack()
			defer p.dismiss(c)
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			p.serveClient(ctx, c)
		})
	}
}

// maxTurnedAway is how many connections beyond the limit are read for a moment at the same time.
const maxTurnedAway = 32

// turnAway refuses a connection beyond the limit and closes it. Most clients send their request
// before they read the refusal, which they would lose if the connection was closed at once: that
// happens only to those beyond another limit.
func (p *Proxy) turnAway(ctx context.Context, wait *sync.WaitGroup, conn net.Conn, problem *refusal) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	p.refuse(&stream{conn: conn}, head{}, netguard.Destination{}, "", problem, false)
	if p.turnedAway.Add(1) > maxTurnedAway {
		p.turnedAway.Add(-1)
		_ = conn.Close()
		return
	}
	wait.Go(func() {
		defer p.turnedAway.Add(-1)
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		linger(conn)
	})
}

// growStack makes the stack of a new goroutine as large as a tunnel needs, while it is cheap
// to copy: growing it step by step, with all callers of the moment, took 5 % of a tunnel's
// time.
//
//go:noinline
func growStack() {
	var frame [7 << 10]byte
	keep(&frame)
}

//go:noinline
func keep(*[7 << 10]byte) {}

// pause waits a little after a temporary error of Accept, such as too many open files. It
// reports false for any other error.
func pause(ctx context.Context, err error) bool {
	var temporary interface{ Temporary() bool }
	if !errors.As(err, &temporary) || !temporary.Temporary() {
		return false
	}
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	return true
}

// client is a connection from the sandbox.
type client struct {
	conn net.Conn
	idle time.Time // guarded by Proxy.mu: since when it has waited for a request; zero if it does not wait
}

// admit admits a connection. If there are too many, it closes the one that has waited
// longest for a request.
func (p *Proxy) admit(conn net.Conn) (*client, *refusal) {
	c := &client{conn: conn, idle: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) >= p.limits.Connections {
		var oldest *client
		for other := range p.clients {
			if !other.idle.IsZero() && (oldest == nil || other.idle.Before(oldest.idle)) {
				oldest = other
			}
		}
		if oldest == nil {
			return nil, limited("connections", "the session has %d connections to the proxy already, the limit", len(p.clients))
		}
		delete(p.clients, oldest)
		_ = oldest.conn.Close()
	}
	p.clients[c] = struct{}{}
	return c, nil
}

func (p *Proxy) dismiss(c *client) {
	_ = c.conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, c)
}

// setIdle notes whether a client waits for a request.
func (p *Proxy) setIdle(c *client, idle bool) {
	if c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.idle = time.Time{}
	if idle {
		c.idle = time.Now()
	}
}

func clip(text string, limit int) string { return text[:min(len(text), limit)] }

// refuse records a refusal and sends it to the client. It reports whether the client can
// send another request.
func (p *Proxy) refuse(s *stream, h head, to netguard.Destination, path string, problem *refusal, keepAlive bool) bool {
	body := p.explain(h, to, path, problem)
	_ = s.conn.SetWriteDeadline(time.Now().Add(p.limits.Header))
	_, err := s.conn.Write(problem.response(body, h.accept, keepAlive))
	return err == nil && keepAlive
}

// explain records a refusal and returns the body for the client.
func (p *Proxy) explain(h head, to netguard.Destination, path string, problem *refusal) refusalBody {
	host := to.Host.String()
	if to.Host.IsZero() {
		host, _, _ = strings.Cut(h.target, "?") // no event has a query
	}
	command := p.command(h.method, to, problem)
	id, _ := p.recorder.add(Event{
		Kind: Refused, Time: time.Now(), Destination: to, Host: host, Method: h.method, Path: path, Address: problem.address,
		Rule: problem.rule, Code: problem.code, Reason: problem.reason, Command: command, Hint: problem.hint,
	}, false)
	return problem.body(h.method, to, id, command)
}

// command returns the command with which the user can allow a refused request, or "".
func (p *Proxy) command(method string, to netguard.Destination, problem *refusal) string {
	switch {
	case problem.verdict.Reason == 0 || p.config.Allow == nil:
		return ""
	case problem.request != nil:
		return p.config.Allow(*problem.request, problem.verdict)
	}
	return p.config.Allow(netguard.Request{Destination: to, Method: method}, problem.verdict)
}
