package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/netguard/egress"
	"aibox/netguard/egress/egresstest"
)

// canary is a secret that must not appear anywhere in the sandbox.
const canary = "canary-7b1e0d9c55"

// world is a proxy with an inspector, and servers of the test behind public-looking names.
type world struct {
	*egresstest.Internet

	t         *testing.T
	proxy     *egress.Proxy
	addr      string
	inspector *Inspector

	mu     sync.Mutex
	events []egress.Event
}

// setup is the configuration of a test.
type setup struct {
	allow, inspect, secrets []string
	value                   string                      // of the secrets; "" is the canary
	servers                 map[string]*httptest.Server // by name:port
}

// secureServer returns a server whose certificate is for the name.
func secureServer(t *testing.T, handler http.HandlerFunc, http2 bool, names ...string) *httptest.Server {
	t.Helper()
	return server(t, handler, http2, time.Now().Add(time.Hour), names...)
}

func server(t *testing.T, handler http.HandlerFunc, http2 bool, expires time.Time, names ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate(t, expires, names...)}} //nolint:gosec // a test
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate returns a certificate for the first of the names, with its authority.
func certificate(t *testing.T, expires time.Time, names ...string) *tls.Certificate {
	t.Helper()
	var patterns []netguard.Pattern
	for _, name := range names {
		patterns = append(patterns, pattern(t, name))
	}
	a, err := newAuthority(patterns)
	if err != nil {
		t.Fatal(err)
	}
	a.certificate.NotAfter = expires // limits the leaf
	host, _ := patterns[0].Host()
	leaf, err := a.leaf(host)
	if err != nil {
		t.Fatal(err)
	}
	leaf.Certificate = append(leaf.Certificate, a.certificate.Raw)
	return leaf
}

func pattern(t *testing.T, text string) netguard.Pattern {
	t.Helper()
	p, err := netguard.ParseInspect(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{t: t, Internet: egresstest.NewInternet()}
	config := Config{Roots: x509.NewCertPool()}
	for name, server := range s.servers {
		w.serve(name, server)
		if server.TLS != nil {
			chain := server.TLS.Certificates[0].Certificate
			root, err := x509.ParseCertificate(chain[len(chain)-1])
			if err != nil {
				t.Fatal(err)
			}
			config.Roots.AddCert(root)
		}
	}
	for _, entry := range s.inspect {
		config.Hosts = append(config.Hosts, pattern(t, entry))
	}
	for _, entry := range s.secrets {
		rule, err := netguard.ParseSecretRule(entry)
		if err != nil {
			t.Fatal(err)
		}
		config.Secrets = append(config.Secrets, Secret{rule, secret.New(cmp.Or(s.value, canary))})
	}
	var err error
	if w.inspector, err = New(config); err != nil {
		t.Fatal(err)
	}
	w.proxy = egress.New(egress.Config{Policy: netguard.NewMatcher(egresstest.Allowlist(t, s.allow...)), Inspector: w.inspector, Resolver: w, Dial: w.Dial, Record: w.record})
	t.Cleanup(func() { w.findCanary(fmt.Sprintf("%+v", w.events)) }) // after the proxy has stopped
	w.addr = egresstest.Serve(t, w.proxy)
	return w
}

// serve starts a server for name, a host:port.
func (w *world) serve(name string, server *httptest.Server) {
	w.t.Helper()
	host, port, _ := strings.Cut(name, ":")
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Route(host, uint16(number), server.Listener.Addr().String())
}

func (w *world) record(e egress.Event) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	return fmt.Sprint("k3f9-codex/", len(w.events))
}

// trust returns the authorities of a program in the sandbox: only the session's.
func (w *world) trust() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.inspector.Authority())
	return pool
}

// client returns an HTTP client in the sandbox.
func (w *world) client(http2 bool) *http.Client {
	transport := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr}),
		TLSClientConfig:    &tls.Config{RootCAs: w.trust()}, //nolint:gosec // a test
		ForceAttemptHTTP2:  http2,
		DisableCompression: true,
	}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// tunnel opens a tunnel to d.
func (w *world) tunnel(d string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", d, d)
	response, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, int64(len("HTTP/1.1 200 Connection established\r\n\r\n")))), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%v, %v", response, err)
	}
	return conn
}

// tls opens a decrypted tunnel to d, with the given protocols.
func (w *world) tls(d string, protocols ...string) *tls.Conn {
	w.t.Helper()
	host, _, _ := strings.Cut(d, ":")
	conn := tls.Client(w.tunnel(d), &tls.Config{RootCAs: w.trust(), ServerName: host, NextProtos: protocols}) //nolint:gosec // a test
	if err := conn.Handshake(); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// raw sends a raw HTTP/1.1 request through a decrypted tunnel to d, and returns the response
// with its body.
func (w *world) raw(d, request string) (int, string) {
	w.t.Helper()
	conn := w.tls(d)
	fmt.Fprint(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatalf("%q: %v", request, err)
	}
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// findCanary fails the test if text has the secret.
func (w *world) findCanary(text string) {
	w.t.Helper()
	if strings.Contains(text, canary) {
		w.t.Errorf("the secret is in %q", text)
	}
}

// dump returns everything in a response.
func dump(t *testing.T, response *http.Response) string {
	t.Helper()
	var all bytes.Buffer
	_ = response.Header.Write(&all)
	if _, err := io.Copy(&all, response.Body); err != nil {
		t.Error(err)
	}
	_ = response.Trailer.Write(&all)
	return response.Status + "\n" + all.String()
}

// seen records the requests that a server received.
type seen struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (s *seen) handler(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, r.RequestURI)
}

func (s *seen) last(t *testing.T) *http.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		t.Fatal("the server received no request")
	}
	return s.requests[len(s.requests)-1]
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}
