package inspect

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

const (
	api     = "api.example.org:443"
	onlyGET = "GET https://api.example.org/repos/**"
)

func TestInspectedRequestsPassInEveryProtocol(t *testing.T) {
	for _, inside := range []bool{false, true} {
		for _, outside := range []bool{false, true} {
			s := &seen{}
			w := newWorld(t, setup{
				allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
				servers: map[string]*httptest.Server{api: secureServer(t, s.handler, outside, "api.example.org")},
			})
			for range 2 {
				response, err := w.client(inside).Post("https://api.example.org/a%2fb//c?x;y", "text/plain", strings.NewReader("xyz"))
				if err != nil {
					t.Fatal(err)
				}
				if have := dump(t, response); !strings.HasSuffix(have, "POST api.example.org /a%2fb//c?x;y") {
					t.Errorf("HTTP/2 %v, %v: %q", inside, outside, have)
				}
				if response.ProtoMajor == 2 != inside || s.last(t).ProtoMajor == 2 != outside {
					t.Errorf("HTTP/2 %v, %v: %s in the sandbox, %s to the server", inside, outside, response.Proto, s.last(t).Proto)
				}
			}
		}
	}
}

func TestMethodsAndPathsAreRestricted(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		s := &seen{}
		w := newWorld(t, setup{
			allow: []string{onlyGET, "POST https://api.example.org/repos/*/issues"}, inspect: []string{"api.example.org"},
			servers: map[string]*httptest.Server{api: secureServer(t, s.handler, true, "api.example.org")},
		})
		for _, c := range []struct {
			method, path string
			status       int
			forwarded    string
		}{
			{"GET", "/repos/a", 200, "/repos/a"},
			{"HEAD", "/repos/a?x=1", 200, "/repos/a?x=1"},
			{"POST", "/repos/a/issues", 200, "/repos/a/issues"},
			{"GET", "/repos//%61", 200, "/repos/a"},
			{"GET", "//repos/a", 200, "/repos/a"},
			{"POST", "/repos/a", 403, ""},
			{"DELETE", "/repos/a", 403, ""},
			{"GET", "/admin", 403, ""},
			{"GET", "/Repos/a", 403, ""},
			{"GET", "/", 403, ""},
			{"GET", "/repos/../admin", 403, ""},
			{"GET", "/repos/%2e%2e/admin", 403, ""},
			{"GET", "/repos/%2E./admin", 403, ""},
			{"GET", "/repos/..;/admin", 403, ""},
			{"GET", "/repos/a%2f..%2f..%2fadmin", 403, ""},
			{"GET", "/repos/%252e%252e/admin", 403, ""},
			{"GET", "/repos/..%5cadmin", 403, ""},
			{"GET", "/repos/%c0%ae%c0%ae/admin", 403, ""},
			{"GET", "/repos/a;/../../admin", 403, ""},
			{"GET", "/repos/a%00", 403, ""},
			{"GET", "/repos/a%3f/../b", 403, ""},
			{"TRACE", "/repos/a", 405, ""},
		} {
			before := s.count()
			response := w.send(c.method, c.path, http2, nil)
			body := dump(t, response)
			if response.StatusCode != c.status {
				t.Errorf("HTTP/2 %v, %s %s: %s", http2, c.method, c.path, body)
			}
			switch {
			case c.status != 200 && s.count() != before:
				t.Errorf("%s %s reached the server as %s", c.method, c.path, s.last(t).RequestURI)
			case c.status == 200 && s.last(t).RequestURI != c.forwarded:
				t.Errorf("%s %s was forwarded as %s", c.method, c.path, s.last(t).RequestURI)
			case c.status == 403 && (c.method != "HEAD" && !strings.Contains(body, "k3f9-codex/")):
				t.Errorf("%s %s: no id in %q", c.method, c.path, body)
			}
		}
		for _, name := range []string{"X-HTTP-Method-Override", "X-Original-URL", "X_HTTP_Method_Override"} {
			if response := w.send("GET", "/repos/a", http2, http.Header{name: {"DELETE"}}); response.StatusCode != 403 {
				t.Errorf("%s: %s", name, response.Status)
			}
			if response := w.sendTrailer(name, http2); response.StatusCode != 403 {
				t.Errorf("%s as a trailer: %s", name, response.Status)
			}
		}
	}
}

// send sends a request with exactly this path to api.example.org.
func (w *world) send(method, path string, useHTTP2 bool, header http.Header) *http.Response {
	w.t.Helper()
	request, err := http.NewRequest(method, "https://api.example.org", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request.URL.Opaque = path
	if strings.HasPrefix(path, "//") { // otherwise the library changes it to https://repos
		request.URL.Opaque, request.URL.Path, request.URL.RawPath = "", path, path
	}
	if header != nil {
		request.Header = header
	}
	return w.roundTrip(request, useHTTP2)
}

// sendTrailer sends a request for /repos/a with a trailer.
func (w *world) sendTrailer(name string, useHTTP2 bool) *http.Response {
	w.t.Helper()
	request, err := http.NewRequest("GET", "https://api.example.org/repos/a", strings.NewReader("x"))
	if err != nil {
		w.t.Fatal(err)
	}
	request.ContentLength, request.Trailer = -1, http.Header{name: {"DELETE"}}
	return w.roundTrip(request, useHTTP2)
}

// Closing a connection with unread bytes resets it, and the client loses the answer.
func TestARefusalIsReadWhileItsRequestIsSent(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{onlyGET}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, true, "api.example.org")},
	})
	for range 10 {
		conn := w.tls(api, "http/1.1")
		const size = 2_000_000
		fmt.Fprintf(conn, "POST /repos/a HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: %d\r\n\r\n", size)
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Error(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body := dump(t, response); response.StatusCode != 403 || !strings.Contains(body, "k3f9-codex/") {
			t.Error(body)
		}
		_ = conn.Close()
	}
}

// roundTrip sends a request to api.example.org.
func (w *world) roundTrip(request *http.Request, useHTTP2 bool) *http.Response {
	w.t.Helper()
	conn := w.tls(api, map[bool]string{true: "h2", false: "http/1.1"}[useHTTP2])
	if !useHTTP2 {
		if err := request.Write(conn); err != nil {
			w.t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), request)
		if err != nil {
			w.t.Fatalf("%s %s: %v", request.Method, request.URL, err)
		}
		return response
	}
	client, err := (&http2.Transport{}).NewClientConn(conn) //nolint:staticcheck // http.Transport dials, and this is one open connection
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		w.t.Fatalf("%s %s: %v", request.Method, request.URL, err)
	}
	return response
}

func TestARestrictedHostThatIsNotInspectedGetsNoTunnel(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{onlyGET}, inspect: []string{"other.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, true, "api.example.org")},
	})
	if response, err := w.client(false).Get("https://api.example.org/repos/a"); err == nil {
		t.Error(dump(t, response))
	} else if !strings.Contains(err.Error(), "not inspected") {
		t.Error(err)
	}
}

func TestAnotherHostInAnInspectedTunnelIsMisdirected(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{"api.example.org", "other.example.org"}, inspect: []string{"*.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, false, "api.example.org")},
	})
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n":                               421,
		"GET / HTTP/1.1\r\nHost: api.example.org:8443\r\n\r\n":                            421,
		"GET / HTTP/1.1\r\nHost: api.example.org\r\nHost: other.example.org\r\n\r\n":      400,
		"GET https://other.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n":        400,
		"CONNECT other.example.org:443 HTTP/1.1\r\nHost: other.example.org:443\r\n\r\n":   403,
		"GET / HTTP/1.1\r\nHost: api.example.org@other.example.org\r\n\r\n":               400,
		"GET / HTTP/1.1\r\nhost : other.example.org\r\nHost: api.example.org\r\n\r\n":     400,
		"GET / HTTP/1.1\r\nHost: API.example.org.:443\r\nX-Forwarded-Host: other\r\n\r\n": 200,
	} {
		if status, body := w.raw(api, request); status != want {
			t.Errorf("%q: %d %q", request, status, body)
		}
	}
	client, err := (&http2.Transport{}).NewClientConn(w.tls(api, "h2")) //nolint:staticcheck // see above
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"other.example.org": 421, "api.example.org:80": 421, "API.EXAMPLE.org": 200} {
		request, _ := http.NewRequest("GET", "https://api.example.org/", nil)
		request.Host = host
		response, err := client.RoundTrip(request)
		if err != nil || response.StatusCode != want {
			t.Errorf("%s: %v, %v", host, response, err)
		}
	}
	for _, r := range s.requests {
		if r.Host != "api.example.org" {
			t.Errorf("the server received a request for %s", r.Host)
		}
	}
}

func TestTheCertificateIsForTheTunnelsHostAlone(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{"api.example.org", "other.example.org"}, inspect: []string{"*.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, false, "api.example.org")},
	})
	for _, name := range []string{"other.example.org", "", "127.0.0.1"} {
		conn := tls.Client(w.tunnel(api), &tls.Config{InsecureSkipVerify: true, ServerName: name}) //nolint:gosec // the attack
		if err := conn.Handshake(); err == nil {
			t.Errorf("the server name %q was accepted", name)
		}
		if _, err := w.inspector.certificate(egresstest.Destination(t, api), name); err == nil {
			t.Errorf("there is a certificate for the server name %q", name)
		}
	}
}

func TestTheAuthorityIsForInspectedHostsAlone(t *testing.T) {
	for _, hosts := range [][]string{{"api.example.org"}, {"9.9.9.9"}, {"*.example.org", "[2606:4700::1]:8443"}} {
		var patterns []netguard.Pattern
		for _, host := range hosts {
			patterns = append(patterns, pattern(t, host))
		}
		a, err := newAuthority(patterns)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(a.certificate)
		for text, want := range map[string]bool{
			"api.example.org": hosts[0] != "9.9.9.9", "www.example.net": false, "org": false, "9.9.9.9": hosts[0] == "9.9.9.9", "8.8.8.8": false, "2606:4700::1": len(hosts) == 2, "2606:4700::2": false,
		} {
			host, err := netguard.ParseHost(text)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := a.leaf(host)
			if err != nil {
				t.Fatal(err)
			}
			name := text
			if strings.Contains(text, ":") {
				name = "[" + text + "]"
			}
			if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); (err == nil) != want {
				t.Errorf("authority of %v, certificate for %s: %v", hosts, text, err)
			}
		}
	}
}

func TestTheRealServerIsVerified(t *testing.T) {
	s := &seen{}
	servers := map[string]*httptest.Server{
		"expired.example.org:443": server(t, s.handler, false, time.Now().Add(-time.Minute), "expired.example.org"),
		"wrong.example.org:443":   secureServer(t, s.handler, true, "other.example.org"),
	}
	w := newWorld(t, setup{allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, servers: servers, secrets: []string{"T=wrong.example.org:Authorization"}})
	untrusted := secureServer(t, s.handler, true, "untrusted.example.org")
	w.serve("untrusted.example.org:443", untrusted)
	for _, name := range []string{"expired", "wrong", "untrusted"} {
		for _, http2 := range []bool{false, true} {
			response, err := w.client(http2).Get("https://" + name + ".example.org/")
			if err != nil {
				t.Fatal(err)
			}
			if body := dump(t, response); response.StatusCode != http.StatusBadGateway || !strings.Contains(body, "certificate") {
				t.Errorf("%s: %q", name, body)
			}
		}
	}
	if s.count() != 0 {
		t.Error("a request reached a server that is not the host")
	}
}

func TestEventsAreNotDelayedAndTrailersPass(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		received := make(chan struct{})
		handler := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Trailer", "Grpc-Status")
			fmt.Fprint(w, "data: one\n\n")
			_ = http.NewResponseController(w).Flush()
			<-received
			fmt.Fprint(w, "data: two\n\n")
			w.Header().Set("Grpc-Status", "0")
		}
		w := newWorld(t, setup{
			allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, secrets: []string{"T=api.example.org:Authorization"},
			servers: map[string]*httptest.Server{api: secureServer(t, handler, true, "api.example.org")},
		})
		response, err := w.client(http2).Get("https://api.example.org/")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(response.Body)
		if line, err := in.ReadString('\n'); line != "data: one\n" {
			t.Fatalf("%q, %v", line, err)
		}
		close(received)
		if rest, err := io.ReadAll(in); string(rest) != "\ndata: two\n\n" || err != nil || response.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("HTTP/2 %v: %q, %v, trailers %v", http2, rest, err, response.Trailer)
		}
	}
}

func TestWebSocketsPass(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			t.Errorf("%v", r.Header)
		}
		conn, io, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(io, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = io.Flush()
		line, _ := io.ReadString('\n')
		fmt.Fprint(io, "echo "+line)
		_ = io.Flush()
	}
	w := newWorld(t, setup{
		allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, handler, true, "api.example.org")},
	})
	conn := w.tls(api)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: api.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", response, err)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := in.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestAChangedPolicyEndsInspectedRequests(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		handler := func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
		w := newWorld(t, setup{
			allow: []string{onlyGET}, inspect: []string{"api.example.org"},
			servers: map[string]*httptest.Server{api: secureServer(t, handler, true, "api.example.org")},
		})
		response, err := w.client(http2).Get("https://api.example.org/repos/a")
		if err != nil {
			t.Fatal(err)
		}
		w.proxy.SetPolicy(netguard.NewMatcher(netguard.Policy{Mode: netguard.Allowlist}))
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("HTTP/2 %v: the response has an end", http2)
		}
	}
}

func TestWrongSecretsAreRefusedAtTheStart(t *testing.T) {
	for rule, value := range map[string]string{
		"T=api.example.org:X-Key": "short", "T=other.example.org:X-Key": canary, "T=api.example.org:8443:X-Key": canary, "T=http://api.example.org:X-Key": canary + "\n",
	} {
		parsed, err := netguard.ParseSecretRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(Config{Hosts: []netguard.Pattern{pattern(t, "api.example.org")}, Secrets: []Secret{{parsed, secret.New(value)}}})
		if err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
