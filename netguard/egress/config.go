package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"aibox/netguard"
)

// Config describes a proxy. Its functions are called from any goroutine.
type Config struct {
	// Policy decides about destinations; nil allows nothing.
	Policy *netguard.Matcher
	// Ask asks the user about a destination that the policy refuses but that an answer can
	// allow; nil refuses at once. It blocks until there is an answer or ctx ends, and is
	// called once for all requests that wait for the same destination. If the answer
	// applies to more than these requests, Ask calls Proxy.SetPolicy before it returns.
	Ask func(ctx context.Context, q Question) Answer
	// Record records an event and returns its id, which a refusal shows; nil records
	// nothing. It must not call the proxy.
	Record func(Event) (id string)
	// Count gets each Allowed and Closed event, those that Record does not get too, without
	// Repeated. recorded reports that Record got the event and returned an id for it. nil counts
	// nothing.
	Count func(e Event, recorded bool)
	// Allow returns the command with which the user can allow a request that was refused with
	// a verdict; nil or "" names none.
	Allow func(netguard.Request, netguard.Verdict) string
	// Own are more addresses of this machine than those of its interfaces, such as that of the
	// router in front of it. The proxy refuses them whatever Policy and Ask say.
	Own []netip.Prefix
	// Inspector decrypts tunnels and changes HTTP requests; nil leaves tunnels opaque and
	// requests unchanged.
	Inspector Inspector
	// HostKeys checks SSH servers; nil refuses SSH.
	HostKeys HostKeys
	// SSHAgent serves requests to the user's ssh-agent; nil refuses them.
	SSHAgent SSHAgent
	// Budgets limit the bytes of the session, as they cross the host's network; 0 is no limit. A
	// connection is cut as soon as a budget is used up. Limits limit everything else.
	Budgets netguard.Traffic
	Limits  Limits

	// Resolver and Dial replace the network in tests; nil uses the host's.
	Resolver Resolver
	Dial     func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// Resolver finds the addresses of a host. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Inspector decrypts TLS connections and changes the HTTP requests and responses that the
// proxy can read. Its methods are called for destinations that the policy allows. https is
// false for plain HTTP.
type Inspector interface {
	// Inspects reports whether Decrypt decrypts connections to d.
	Inspects(d netguard.Destination) bool
	// Decrypt completes the TLS handshake of a client with d. conn begins with the
	// ClientHello, whose server name has been checked. The protocol that they agree on is
	// HTTP/1.1 or HTTP/2. Closing the returned connection closes conn.
	Decrypt(ctx context.Context, d netguard.Destination, conn net.Conn) (*tls.Conn, error)
	// Request may change a request just before it is forwarded to d, for example to add a
	// secret, or refuse it with an error, whose text is the reason that the client receives.
	Request(d netguard.Destination, https bool, request *http.Request) error
	// Response may change the response to a request to d, or refuse it with an error, whose
	// text is the reason that the client receives.
	Response(d netguard.Destination, https bool, response *http.Response) error
	// Error returns err, the failure of a request to d, without text that the client must not
	// receive: it can quote the server.
	Error(d netguard.Destination, https bool, err error) error
	// Transport prepares the transport that forwards decrypted requests, for example with
	// the certificate authorities to trust.
	Transport(*http.Transport)
}

// HostKeys checks the identity of SSH servers.
type HostKeys interface {
	// Guard returns a connection that relays conn, a connection to d. Unless the server has a
	// known host key and both ends speak SSH, it calls refuse with the reason, once and
	// before the client can send a credential, and fails.
	Guard(d netguard.Destination, conn net.Conn, refuse func(why error)) net.Conn
}

// SSHAgent serves a session's permitted requests to the user's ssh-agent.
type SSHAgent interface {
	// Serve serves a connection of the sandbox, in the protocol of ssh-agent, until it or
	// ctx ends. It closes conn. reach returns why the session may not reach a server now, or
	// "". It calls record for each request that it passes on or refuses: to is the SSH server,
	// or the zero value if unknown; what names the request; and refusal is the reason for a
	// refusal, or "".
	Serve(ctx context.Context, conn net.Conn, reach func(netguard.Destination) (refusal string), record func(to netguard.Destination, what, refusal string))
}

// Limits bound the resources that the sandbox can make the proxy use. 0 is the default.
type Limits struct {
	Connections int           // from the sandbox at a time, and requests of HTTP/2 in them; default 256
	PerHost     int           // tunnels and requests at a time to one host; default 128. A tunnel with open requests is not counted itself
	Held        int           // requests that wait for the user at a time; default 64
	Header      time.Duration // until a request's head is complete, from its first byte; default 15 s
	Hello       time.Duration // until a tunnel's first bytes are complete; default 15 s
	Dial        time.Duration // to resolve and connect; default 30 s
	Idle        time.Duration // without a byte in either direction; default 1 h
	KeepAlive   time.Duration // between two requests of a connection; default 2 min
	Lifetime    time.Duration // of a tunnel; default 24 h
}

func (l Limits) withDefaults() Limits {
	number := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	duration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	number(&l.Connections, 256)
	number(&l.PerHost, 128)
	number(&l.Held, 64)
	duration(&l.Header, 15*time.Second)
	duration(&l.Hello, 15*time.Second)
	duration(&l.Dial, 30*time.Second)
	duration(&l.Idle, time.Hour)
	duration(&l.KeepAlive, 2*time.Minute)
	duration(&l.Lifetime, 24*time.Hour)
	return l
}
