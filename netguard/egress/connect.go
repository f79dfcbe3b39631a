package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"aibox/netguard"
)

// tunnel is the tunnel of a CONNECT request.
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
// client can send another request, which is possible only after a refusal.
func (p *Proxy) serveConnect(ctx context.Context, s *stream, h head, to netguard.Destination) bool {
	if to == netguard.SSHAgent() && p.config.SSHAgent != nil {
		p.serveSSHAgent(ctx, s)
		return false
	}
	ctx, f, problem := p.begin(ctx, s, h, "", nil, to)
	if problem != nil {
		return p.refuse(s, h, to, "", problem, true)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.limits.Lifetime, forbid("lifetime", "the tunnel was open for %v, the limit", p.limits.Lifetime))
	defer cancel()
	upstream, address, err := f.dial(ctx)
	if err == nil {
		if problem = f.connected(address); problem != nil {
			upstream.Close()
			err = problem
		}
	}
	if err != nil {
		if problem = cause(ctx); problem == nil {
			problem = unreachable(err)
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
	f.endCut(problem)
	return false
}

func (t *tunnel) close() {
	_ = t.client.conn.Close()
	t.upstream.close()
}

// serve answers CONNECT, checks the client's first bytes, and serves the rest.
func (t *tunnel) serve(ctx context.Context) *refusal {
	conn := t.client.conn
	_ = conn.SetDeadline(time.Now().Add(t.proxy.limits.Hello))
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return nil //nolint:nilerr // the client has disconnected
	}
	protocol, problem := t.check()
	if problem != nil {
		return t.cut(problem)
	}
	if protocol == nil {
		return nil
	}
	return protocol(ctx)
}

// protocol serves the rest of a tunnel whose beginning was valid. The deadline of the
// beginning still holds.
type protocol func(context.Context) *refusal

// check reads the beginning of the tunnel and returns its protocol, or nil if the client has
// closed the connection.
func (t *tunnel) check() (protocol, *refusal) {
	first, err := t.client.reader.Peek(1)
	if err != nil {
		if isTimeout(err) {
			return nil, forbid("silent-tunnel", "the client sent nothing through the tunnel in %v", t.proxy.limits.Hello)
		}
		return nil, nil
	}
	switch port := t.flow.to.Port; {
	case first[0] == recordHandshake && port != portSSH:
		return t.checkTLS()
	case port == portHTTPS:
		return nil, forbid("not-tls", "a tunnel to port 443 carries TLS and nothing else")
	case port != portHTTP && t.startsWith("SSH-"):
		return t.checkSSH()
	case port == portSSH:
		return nil, forbid("not-ssh", "a tunnel to port 22 carries SSH and nothing else")
	case isToken(string(first)):
		return t.serveHTTP, nil
	}
	return nil, forbid("unknown-protocol", "a tunnel carries TLS, HTTP/1.1 or SSH, and the client sent something else")
}

func (t *tunnel) startsWith(prefix string) bool {
	for i := range len(prefix) { // a program with another protocol may send fewer bytes and wait
		begin, err := t.client.reader.Peek(i + 1)
		if err != nil || begin[i] != prefix[i] {
			return false
		}
	}
	return true
}

// checkTLS checks the whole ClientHello.
func (t *tunnel) checkTLS() (protocol, *refusal) {
	raw, hello, err := readClientHello(t.client.reader)
	var problem *refusal
	switch {
	case err == nil:
		problem = hello.check(t.flow.to)
	case asRefusal(err, &problem):
	case isTimeout(err):
		problem = forbid("slow-hello", "the ClientHello was not complete after %v", t.proxy.limits.Hello)
	default:
		return nil, nil
	}
	if problem != nil {
		t.alert()
		return nil, problem
	}
	client := &bufferedConn{Conn: t.client.conn, prefix: raw, stream: t.client}
	if t.proxy.inspects(t.flow.to) {
		return func(ctx context.Context) *refusal { return t.serveDecrypted(ctx, client) }, nil
	}
	client.second = &secondHello{t.flow.to, hello.earlyData, t.cut}
	return func(ctx context.Context) *refusal { return t.pass(ctx, client, nil) }, nil
}

// pass relays the tunnel, which sets the deadline of each read and write. guard wraps the
// connection to the server; nil does not.
func (t *tunnel) pass(ctx context.Context, client net.Conn, guard func(net.Conn) net.Conn) *refusal {
	if problem := t.flow.setOpaque(); problem != nil {
		if guard == nil {
			t.alert()
		}
		return t.cut(problem)
	}
	upstream := t.upstream.take()
	if upstream == nil { // the flow has ended
		return nil
	}
	if guard != nil {
		upstream = guard(upstream)
	}
	return t.proxy.relay(ctx, t.flow, client, upstream, true)
}

// alert sends the TLS alert "access denied", so that the client does not report a broken
// connection.
func (t *tunnel) alert() {
	_, _ = t.client.conn.Write([]byte{21, 3, 3, 0, 2, 2, 49})
}

// serveDecrypted serves the requests inside TLS.
func (t *tunnel) serveDecrypted(ctx context.Context, client net.Conn) *refusal {
	_ = t.client.conn.SetDeadline(time.Time{})
	handshake, cancel := context.WithTimeout(ctx, t.proxy.limits.Hello)
	defer cancel()
	plain, err := t.proxy.config.Inspector.Decrypt(handshake, t.flow.to, client)
	if err != nil {
		return forbid("tls-inspection", "the connection is inspected, and the client's TLS handshake failed: %v", err)
	}
	defer plain.Close()
	if plain.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS {
		t.serveHTTP2(ctx, plain)
	} else {
		t.serveStream(ctx, plain, true)
		linger(plain)
	}
	return nil
}

// serveHTTP serves plain HTTP in the tunnel: each request is decided like one to the proxy.
func (t *tunnel) serveHTTP(ctx context.Context) *refusal {
	_ = t.client.conn.SetDeadline(time.Time{})
	t.serveStream(ctx, &bufferedConn{Conn: t.client.conn, stream: t.client}, false)
	return nil
}

// serveStream serves the requests that arrive through the tunnel. The first one that is
// forwarded uses the tunnel's own connection.
func (t *tunnel) serveStream(ctx context.Context, conn net.Conn, https bool) {
	s := newStream(conn)
	defer s.release()
	s.tunnel, s.https, s.once = t.flow.to, https, t.flow.once
	t.proxy.serveRequests(context.WithValue(ctx, tunnelKey{}, t), s)
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

// checkSSH has the server's host key checked while the connection passes.
func (t *tunnel) checkSSH() (protocol, *refusal) {
	keys := t.proxy.config.HostKeys
	if keys == nil {
		return nil, forbid("ssh", "SSH servers cannot be checked in this session")
	}
	client := &bufferedConn{Conn: t.client.conn, stream: t.client}
	guard := func(upstream net.Conn) net.Conn {
		return keys.Guard(t.flow.to, upstream, func(why error) {
			t.flow.stop(t.cut(forbid("host-key", "%v", why)))
		})
	}
	return func(ctx context.Context) *refusal { return t.pass(ctx, client, guard) }, nil
}

// cut records that a tunnel is refused after it was allowed by name, and returns the reason.
func (t *tunnel) cut(problem *refusal) *refusal { return t.flow.cut(problem) }
