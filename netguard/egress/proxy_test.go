package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
)

// world is a proxy over a real listener, with public-looking addresses that lead to servers
// of the test.
type world struct {
	t     testing.TB
	proxy *Proxy
	addr  string

	mu     sync.Mutex
	events []Event
	dialed []netip.AddrPort
	asked  []string
	names  map[string][]netip.Addr
	routes map[netip.AddrPort]string
}

// publicAddress is where names of the test's servers lead.
var publicAddress = netip.MustParseAddr("11.11.1.1")

func newWorld(t testing.TB, policy netguard.Policy, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]netip.Addr{}, routes: map[netip.AddrPort]string{}}
	config := Config{
		Policy: netguard.NewMatcher(policy), Resolver: w, Dial: w.dial, Record: w.record,
		Allow: func(d netguard.Destination) string { return "aibox allow k3f9-codex " + d.String() },
	}
	if change != nil {
		change(&config)
	}
	w.proxy = New(config)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.proxy.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the proxy does not stop")
		}
	})
	return w
}

func (w *world) record(e Event) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	return fmt.Sprintf("k3f9-codex/%d", len(w.events))
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, host)
	if addresses, ok := w.names[strings.TrimSuffix(host, ".")]; ok {
		return addresses, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (w *world) dial(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	to, ok := w.routes[address]
	w.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("connection refused by %s", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to)
}

// route makes name:port lead to a server of the test.
func (w *world) route(name string, port uint16, server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	addr := publicAddress
	for {
		if _, taken := w.routes[netip.AddrPortFrom(addr, port)]; !taken {
			break
		}
		addr = addr.Next()
	}
	w.names[name] = []netip.Addr{addr}
	w.routes[netip.AddrPortFrom(addr, port)] = server
}

func (w *world) recorded(kind EventKind) (events []Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// client returns an HTTP client that uses the proxy.
func (w *world) client() *http.Client {
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the servers of the test have any certificate
	}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func allowlist(t testing.TB, entries ...string) netguard.Policy {
	t.Helper()
	policy := netguard.Policy{Mode: netguard.Allowlist}
	for _, entry := range entries {
		pattern, err := netguard.ParseAllow(entry)
		if err != nil {
			t.Fatal(err)
		}
		policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: "--allow"})
	}
	return policy
}

func hello(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, body)
}

func TestAllowedRequestsPassInBothForms(t *testing.T) {
	w := newWorld(t, allowlist(t, "plain.example.org", "tls.example.org"), nil)
	plain := httptest.NewServer(http.HandlerFunc(hello))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(hello))
	defer secure.Close()
	w.route("plain.example.org", 80, plain.Listener.Addr().String())
	w.route("tls.example.org", 443, secure.Listener.Addr().String())
	for target, want := range map[string]string{"http://plain.example.org/a?b": "POST plain.example.org xyz", "https://tls.example.org/": "POST tls.example.org xyz"} {
		response, err := w.client().Post(target, "text/plain", strings.NewReader("xyz"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %s %q", target, response.Status, body)
		}
	}
}

func TestRefusalExplainsItself(t *testing.T) {
	w := newWorld(t, allowlist(t, "plain.example.org"), nil)
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT other.example.org:443 HTTP/1.1\r\nHost: other.example.org:443\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusForbidden {
		t.Error(response.Status)
	}
	for _, want := range []string{"other.example.org:443", "no entry of the allow list names this host", "k3f9-codex/1", "aibox allow k3f9-codex other.example.org:443"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q lacks %q", body, want)
		}
	}
	if events := w.recorded(Refused); len(events) != 1 || events[0].Command != "aibox allow k3f9-codex other.example.org:443" {
		t.Errorf("recorded %+v", events)
	}
	if len(w.asked) != 0 {
		t.Errorf("a refused name was resolved: %v", w.asked)
	}
}
