package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"aibox/netguard"
)

// tunnel is what a CONNECT request makes.
type tunnel struct {
	proxy    *Proxy
	client   *stream
	flow     *flow
	upstream *spare
	address  netip.Addr
}

// spare is a connection to a tunnel's destination, until it is taken.
type spare struct {
	conn  net.Conn
	taken atomic.Bool
}

// take returns the connection to the first caller, and nil to any other.
func (s *spare) take() net.Conn {
	if s == nil || s.taken.Swap(true) {
		return nil
	}
	return s.conn
}

func (s *spare) close() {
	if conn := s.take(); conn != nil {
		_ = conn.Close()
	}
}

// serveConnect decides about a CONNECT request and serves its tunnel. It reports whether the
// client can send another request, which is so only after a refusal.
func (p *Proxy) serveConnect(ctx context.Context, s *stream, h head, to netguard.Destination) bool {
	ctx, f, problem := p.begin(ctx, s, h, "", to)
	if problem != nil {
		return p.refuse(s, h, to, "", problem, true)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.limits.Lifetime, forbid("lifetime", "the tunnel was open for %v, the limit", p.limits.Lifetime))
	defer cancel()
	upstream, address, err := p.dialer.dial(ctx, to, f.checkAddress)
	if err == nil {
		if problem = f.connected(address); problem != nil {
			upstream.Close()
			err = problem
		}
	}
	if err != nil {
		if problem = cause(ctx); problem == nil {
			problem = unreachable(to, err)
		}
		f.end(problem)
		return p.refuse(s, h, to, "", problem, true)
	}
	t := &tunnel{p, s, f, &spare{conn: upstream}, address}
	stop := context.AfterFunc(ctx, t.close)
	problem = t.serve(ctx)
	stop()
	t.close()
	if why := cause(ctx); why != nil {
		problem = why
	}
	f.end(problem)
	return false
}

func (t *tunnel) close() {
	_ = t.client.conn.Close()
	t.upstream.close()
}

// serve answers CONNECT, checks what the client sends first, and passes on what follows.
func (t *tunnel) serve(ctx context.Context) *refusal {
	conn, limits := t.client.conn, t.proxy.limits
	_ = conn.SetDeadline(time.Now().Add(limits.Hello))
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return nil
	}
	problem := t.check(ctx)
	if problem != nil {
		t.proxy.recordCut(t.flow, problem)
	}
	return problem
}

// check reads the beginning of the tunnel and serves the protocol that it finds.
func (t *tunnel) check(ctx context.Context) *refusal {
	r := t.client.reader
	first, err := r.Peek(1)
	if err != nil {
		if isTimeout(err) {
			return forbid("silent-tunnel", "the client sent nothing through the tunnel in %v", t.proxy.limits.Hello)
		}
		return nil
	}
	port := t.flow.to.Port
	switch {
	case first[0] == recordHandshake && port != portSSH:
		return t.serveTLS(ctx)
	case port == portHTTPS:
		return forbid("not-tls", "a tunnel to port 443 carries TLS and nothing else")
	case first[0] == 'S' && port != portHTTP && t.startsWith("SSH-"):
		return t.serveSSH(ctx)
	case port == portSSH:
		return forbid("not-ssh", "a tunnel to port 22 carries SSH and nothing else")
	case isToken(string(first)):
		return t.serveHTTP(ctx)
	}
	return forbid("unknown-protocol", "a tunnel carries TLS, HTTP/1.1 or SSH, and the client sent something else")
}

func (t *tunnel) startsWith(prefix string) bool {
	begin, _ := t.client.reader.Peek(len(prefix))
	return string(begin) == prefix
}

// serveTLS checks the whole ClientHello, and then decrypts the connection or passes it on.
func (t *tunnel) serveTLS(ctx context.Context) *refusal {
	raw, hello, err := readClientHello(t.client.reader)
	if err != nil {
		var problem *refusal
		switch {
		case errors.As(err, &problem):
			t.alert()
			return problem
		case isTimeout(err):
			return forbid("slow-hello", "the ClientHello was not complete after %v", t.proxy.limits.Hello)
		}
		return nil
	}
	if problem := hello.check(t.flow.to); problem != nil {
		t.alert()
		return problem
	}
	client := &prefixedConn{Conn: t.client.conn, prefix: raw, reader: t.client.reader}
	_ = t.client.conn.SetDeadline(time.Time{})
	if inspector := t.proxy.config.Inspector; inspector != nil && inspector.Inspects(t.flow.to) {
		return t.serveDecrypted(ctx, client, inspector)
	}
	return t.pass(ctx, client)
}

// pass relays the tunnel.
func (t *tunnel) pass(ctx context.Context, client net.Conn) *refusal {
	upstream := t.upstream.take()
	if upstream == nil { // the flow has ended
		return nil
	}
	return t.proxy.relay(ctx, t.flow, client, upstream, true)
}

// alert sends the TLS alert "access denied", so that the client does not report a broken
// connection.
func (t *tunnel) alert() {
	_, _ = t.client.conn.Write([]byte{21, 3, 3, 0, 2, 2, 49})
}

func (t *tunnel) serveDecrypted(ctx context.Context, client net.Conn, inspector Inspector) *refusal {
	plain, err := inspector.Decrypt(ctx, t.flow.to, client)
	if err != nil {
		return forbid("tls-inspection", "the connection is inspected, and the client's TLS handshake failed: %v", err)
	}
	defer plain.Close()
	t.serveStream(ctx, plain, true)
	return nil
}

// serveHTTP serves plain HTTP in the tunnel: each request is decided like one to the proxy.
func (t *tunnel) serveHTTP(ctx context.Context) *refusal {
	t.serveStream(ctx, &bufferedConn{t.client.conn, t.client.reader}, false)
	return nil
}

// serveStream serves the requests that arrive through the tunnel. The first one that is
// forwarded uses the tunnel's own connection.
func (t *tunnel) serveStream(ctx context.Context, conn net.Conn, https bool) {
	reader, _ := readers.Get().(*bufio.Reader)
	reader.Reset(conn)
	defer func() {
		reader.Reset(nil)
		readers.Put(reader)
	}()
	_ = conn.SetDeadline(time.Time{})
	ctx = context.WithValue(ctx, tunnelKey{}, t)
	t.proxy.serveRequests(ctx, &stream{conn: conn, reader: reader, tunnel: t.flow.to, https: https, once: t.flow.once})
}

type tunnelKey struct{}

// takeSpare returns the unused connection of the tunnel that ctx belongs to, or nil.
func takeSpare(ctx context.Context, to netguard.Destination) (net.Conn, netip.Addr) {
	t, _ := ctx.Value(tunnelKey{}).(*tunnel)
	if t == nil || t.flow.to != to {
		return nil, netip.Addr{}
	}
	return t.upstream.take(), t.address
}

// serveSSH checks the server's host key and then passes the connection on.
func (t *tunnel) serveSSH(ctx context.Context) *refusal {
	keys := t.proxy.config.HostKeys
	if keys == nil {
		return forbid("ssh", "SSH servers cannot be checked in this session")
	}
	address := netip.AddrPortFrom(t.address, t.flow.to.Port)
	again := func(ctx context.Context) (net.Conn, error) {
		conn, err := t.proxy.dialer.connectTo(ctx, address)
		if err != nil {
			return nil, err
		}
		return &meteredConn{Conn: conn, host: t.flow.to.Host, budget: t.proxy.budget}, nil
	}
	if err := keys.Check(ctx, t.flow.to, address, again); err != nil {
		return forbid("host-key", "%v", err)
	}
	_ = t.client.conn.SetDeadline(time.Time{})
	return t.pass(ctx, &bufferedConn{t.client.conn, t.client.reader})
}

// recordCut records that a tunnel was refused after it had been allowed by name.
func (p *Proxy) recordCut(f *flow, problem *refusal) {
	event := f.event(Refused)
	event.Code, event.Reason = problem.code, problem.reason
	p.record(event)
}
