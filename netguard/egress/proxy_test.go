package egress

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// world is a proxy over a real listener, with an Internet of the test.
type world struct {
	*egresstest.Internet

	t     testing.TB
	proxy *Proxy
	addr  string

	mu     sync.Mutex
	events []Event
}

func newWorld(t testing.TB, policy netguard.Policy, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, Internet: egresstest.NewInternet()}
	config := Config{
		Policy: netguard.NewMatcher(policy), Resolver: w, Dial: w.Dial, Record: w.record,
		Allow: func(r netguard.Request, v netguard.Verdict) string {
			if !v.Reason.Askable() {
				return ""
			}
			return "aibox allow k3f9-codex " + r.Destination.String()
		},
	}
	if change != nil {
		change(&config)
	}
	w.proxy = New(config)
	w.addr = egresstest.Serve(t, w.proxy)
	return w
}

func (w *world) record(e Event) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	return fmt.Sprintf("k3f9-codex/%d", len(w.events))
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
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func hello(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, body)
}

func TestAllowedRequestsPassInBothForms(t *testing.T) {
	w := newWorld(t, egresstest.Allowlist(t, "plain.example.org", "tls.example.org"), nil)
	plain := httptest.NewServer(http.HandlerFunc(hello))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(hello))
	defer secure.Close()
	w.Route("plain.example.org", 80, plain.Listener.Addr().String())
	w.Route("tls.example.org", 443, secure.Listener.Addr().String())
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

func TestNoEventHasTheQueryOfATarget(t *testing.T) {
	for _, target := range []string{"/path?secret", "https://plain.example.org/?secret", "ftp://plain.example.org/?secret", "http://plain.example.org/?secret", "http://other.example.org/?secret"} {
		w := newWorld(t, egresstest.Allowlist(t, "plain.example.org"), nil)
		w.say("GET "+target+" HTTP/1.1\r\nHost: plain.example.org\r\n\r\n", 1)
		for _, e := range append(w.recorded(Refused), w.recorded(Allowed)...) {
			if strings.Contains(fmt.Sprintf("%+v", e), "secret") || e.Host == "" {
				t.Errorf("%s is recorded as %+v", target, e)
			}
		}
	}
}

func TestRefusalExplainsItself(t *testing.T) {
	w := newWorld(t, egresstest.Allowlist(t, "plain.example.org"), nil)
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
	if len(w.Asked()) != 0 {
		t.Errorf("a refused name was resolved: %v", w.Asked())
	}
}
