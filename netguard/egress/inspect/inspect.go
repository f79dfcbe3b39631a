// Package inspect decrypts TLS connections to the hosts that the user wants inspected, and
// adds secrets to requests that the proxy can read.
//
// Each session has its own certificate authority. Its key never leaves the memory of the
// session's process, its certificate is constrained to the inspected hosts and expires after
// a week, and only programs in the sandbox trust it. The connection to the real server is
// verified with the host's authorities.
//
// A secret is added only to requests to the one host and port that the user has named with
// it, and only inside TLS unless the user wrote http://. It replaces what the sandbox sent
// in the same header. Package redact overwrites it where the server returns it. Compressed
// responses, parts of responses and WebSockets of a host with a secret are refused, because
// redact cannot read them. That protects against a server that echoes requests, not against
// one that helps the agent: in an encoding that redact does not know, a secret passes. It
// should therefore be one that only its host can use.
package inspect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"aibox/internal/redact"
	"aibox/internal/secret"
	"aibox/netguard"
)

// Secret is a rule with the secret itself.
type Secret struct {
	Rule  netguard.SecretRule
	Value secret.Value
}

// Config describes an Inspector.
type Config struct {
	// Hosts are the hosts whose TLS is decrypted, from netguard.ParseInspect. The host of a
	// secret that is sent inside TLS must be among them.
	Hosts   []netguard.Pattern
	Secrets []Secret
	// Roots verify the real servers; nil means the host's authorities.
	Roots *x509.CertPool
}

// Inspector implements egress.Inspector for one session. It is safe for concurrent use.
type Inspector struct {
	authority *authority // nil without inspected hosts
	hosts     *netguard.Matcher
	secrets   map[target]*injection
	roots     *x509.CertPool
}

// target is the destination of a secret.
type target struct {
	netguard.Destination
	tls bool
}

// injection is the headers for one target, and the secrets to redact in its responses.
type injection struct {
	headers []header
	redact  *redact.Set
	names   *redact.Set // the same, in names of headers
}

type header struct {
	name  string
	value secret.Value
}

// last returns the value of the last header.
func (i *injection) last() string { return i.headers[len(i.headers)-1].value.Reveal() }

// New returns an inspector, with a new authority if there are inspected hosts.
func New(config Config) (*Inspector, error) {
	rules := make([]netguard.Rule, len(config.Hosts))
	for i, host := range config.Hosts {
		rules[i] = netguard.Rule{Pattern: host}
	}
	i := &Inspector{hosts: netguard.NewMatcher(netguard.Policy{Inspect: rules}), secrets: map[target]*injection{}, roots: config.Roots}
	if len(config.Hosts) > 0 {
		var err error
		if i.authority, err = newAuthority(config.Hosts); err != nil {
			return nil, fmt.Errorf("making the session's certificate authority: %w", err)
		}
	}
	values := map[target][]secret.Value{}
	for _, s := range config.Secrets {
		to := target{s.Rule.Destination, s.Rule.TLS}
		if err := i.add(to, s); err != nil {
			return nil, err
		}
		values[to] = append(values[to], s.Value)
		if sent := i.secrets[to].last(); !strings.Contains(sent, s.Value.Reveal()) { // encoded with the user name
			values[to] = append(values[to], secret.New(strings.TrimPrefix(sent, "Basic ")))
		}
	}
	for to, injected := range i.secrets {
		injected.redact = redact.New(values[to]...)
		injected.names = injected.redact.Folded()
	}
	return i, nil
}

func (i *Inspector) add(to target, s Secret) error {
	if n := len(s.Value.Reveal()); n < redact.Least || n > redact.Most {
		return fmt.Errorf("the value of %s has %d bytes: a secret has from %d to %d", s.Rule.Name, n, redact.Least, redact.Most)
	}
	if to.tls && !i.Inspects(to.Destination) {
		return fmt.Errorf("the secret %s is for %s, which is not inspected", s.Rule.Name, to.Destination)
	}
	value, err := s.Rule.Value(s.Value)
	if err != nil {
		return err
	}
	injected := i.secrets[to]
	if injected == nil {
		injected = &injection{}
		i.secrets[to] = injected
	}
	name := http.CanonicalHeaderKey(s.Rule.Header)
	if slices.ContainsFunc(injected.headers, func(h header) bool { return h.name == name }) {
		return fmt.Errorf("two secrets are for the header %s of %s", name, to.Destination)
	}
	injected.headers = append(injected.headers, header{name, value})
	return nil
}

// Authority returns the certificate of the session's authority as PEM, for the programs in
// the sandbox; nil if no host is inspected.
func (i *Inspector) Authority() []byte {
	if i.authority == nil {
		return nil
	}
	return i.authority.pem()
}

// Inspects reports whether TLS connections to d are decrypted.
func (i *Inspector) Inspects(d netguard.Destination) bool {
	return i.hosts.Inspects(d)
}

// Decrypt completes a TLS handshake with the client as d's server. The client chooses
// between HTTP/1.1 and HTTP/2. The caller closes the connection.
func (i *Inspector) Decrypt(ctx context.Context, d netguard.Destination, conn net.Conn) (*tls.Conn, error) {
	if !i.Inspects(d) {
		return nil, fmt.Errorf("%s is not inspected", d)
	}
	server := tls.Server(conn, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return i.certificate(d, hello.ServerName) },
		// Every connection does a full handshake, so that a session of one host cannot be
		// resumed with another.
		SessionTicketsDisabled: true,
	})
	if err := server.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return server, nil
}

// certificate returns the certificate for d if the client requests d's name.
func (i *Inspector) certificate(d netguard.Destination, serverName string) (*tls.Certificate, error) {
	_, isAddress := d.Host.Address()
	if isAddress && serverName != "" {
		return nil, errors.New("an address has no server name")
	}
	if !isAddress {
		if host, err := netguard.ParseHost(serverName); err != nil || host != d.Host {
			return nil, errors.New("the server name is not that of the tunnel")
		}
	}
	return i.authority.leaf(d.Host)
}

// Transport makes a transport verify servers with the authorities of the host, and speak
// HTTP/2 with those that support it.
func (i *Inspector) Transport(t *http.Transport) {
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: i.roots}
	t.ForceAttemptHTTP2 = true
}
