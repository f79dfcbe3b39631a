package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// site is a server of the test that records the data it receives.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) received() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

func (s *site) address() string { return s.Listener.Addr().String() }

// say sends raw bytes to the proxy and returns the responses to n requests.
func (w *world) say(raw string, n int) []*http.Response {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, raw); err != nil {
		w.t.Fatal(err)
	}
	var responses []*http.Response
	method := http.MethodGet
	if strings.HasPrefix(raw, http.MethodConnect) {
		method = http.MethodConnect
	}
	reader := bufio.NewReader(conn)
	for range n {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			break
		}
		responses = append(responses, response)
		if method == http.MethodConnect && response.StatusCode == http.StatusOK {
			break
		}
		body, _ := io.ReadAll(response.Body)
		response.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	return responses
}

// code returns the code of the only recorded refusal.
func (w *world) code() string {
	w.t.Helper()
	if events := w.recorded(Refused); len(events) == 1 {
		return events[0].Code
	}
	return fmt.Sprint(w.recorded(Refused))
}

// attackPolicy allows the good site, and denies one that a wildcard would allow.
func attackPolicy(t *testing.T) netguard.Policy {
	policy := egresstest.Allowlist(t, "good.example.org", "good.example.org:8080", "*.wild.example.org", "9.9.9.9")
	deny, err := netguard.ParseDeny("bad.wild.example.org")
	if err != nil {
		t.Fatal(err)
	}
	policy.Deny = []netguard.Rule{{Pattern: deny, Source: "your settings"}}
	return policy
}

const goodHost = "Host: good.example.org\r\n"

// headAttacks are requests that must not reach a server, each with the code of the control
// that stops it.
var headAttacks = []struct{ name, raw, code string }{
	{"absolute form of a host not listed", "GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n", "not-listed"},
	{"CONNECT to a host not listed", "CONNECT evil.example.net:443 HTTP/1.1\r\nHost: evil.example.net:443\r\n\r\n", "not-listed"},
	{"another host below the name", "GET http://good.example.org.evil.example.net/ HTTP/1.1\r\nHost: good.example.org.evil.example.net\r\n\r\n", "not-listed"},
	{"a name that ends alike", "GET http://notgood.example.org/ HTTP/1.1\r\nHost: notgood.example.org\r\n\r\n", "not-listed"},
	{"the domain of a wildcard", "GET http://wild.example.org/ HTTP/1.1\r\nHost: wild.example.org\r\n\r\n", "not-listed"},
	{"a denied host in a wildcard", "GET http://bad.wild.example.org/ HTTP/1.1\r\nHost: bad.wild.example.org\r\n\r\n", "denied-by-rule"},
	{"a denied host in capitals", "CONNECT BAD.wild.example.ORG:443 HTTP/1.1\r\n\r\n", "denied-by-rule"},
	{"a denied host with a final dot", "CONNECT bad.wild.example.org.:443 HTTP/1.1\r\n\r\n", "denied-by-rule"},
	{"a denied host in full-width letters", "CONNECT ｂａｄ.wild.example.org:443 HTTP/1.1\r\n\r\n", "bad-target"},
	{"a denied host with an encoded letter", "GET http://b%61d.wild.example.org/ HTTP/1.1\r\nHost: bad.wild.example.org\r\n\r\n", "bad-host"},

	{"user name before another host", "GET http://good.example.org@evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "userinfo"},
	{"user name and password before another host", "GET http://good.example.org:80@evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "userinfo"},
	{"user name in CONNECT", "CONNECT good.example.org@evil.example.net:443 HTTP/1.1\r\n\r\n", "bad-target"},
	{"user name in Host", "GET http://good.example.org/ HTTP/1.1\r\nHost: evil.example.net@good.example.org\r\n\r\n", "userinfo"},
	{"backslash before another host", "GET http://good.example.org\\@evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "userinfo"},
	{"backslash as a path", "GET http://evil.example.net\\.good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-host"},
	{"fragment before another host", "GET http://good.example.org#@evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "fragment"},
	{"fragment in a path", "GET http://good.example.org/a#b HTTP/1.1\r\n" + goodHost + "\r\n", "fragment"},
	{"encoded dot in the host", "GET http://good.example.org%2eevil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-host"},
	{"encoded NUL in the host", "GET http://good.example.org%00.evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-host"},
	{"NUL in the target", "GET http://good.example.org\x00.evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-target"},
	{"NUL in CONNECT", "CONNECT good.example.org\x00:443 HTTP/1.1\r\n\r\n", "bad-target"},
	{"NUL in Host", "GET http://good.example.org/ HTTP/1.1\r\nHost: good.example.org\x00\r\n\r\n", "bad-field"},
	{"no host in the URL", "GET http:///x HTTP/1.1\r\n" + goodHost + "\r\n", "bad-host"},
	{"only a port in the URL", "GET http://:80/x HTTP/1.1\r\n" + goodHost + "\r\n", "bad-host"},

	{"two Host fields", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Host: evil.example.net\r\n\r\n", "repeated-host"},
	{"two equal Host fields", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + goodHost + "\r\n", "repeated-host"},
	{"Host of another site", "GET http://good.example.org/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n", "wrong-host"},
	{"Host of another port", "GET http://good.example.org/ HTTP/1.1\r\nHost: good.example.org:8080\r\n\r\n", "wrong-host"},
	{"Host without the port of the URL", "GET http://good.example.org:8080/ HTTP/1.1\r\n" + goodHost + "\r\n", "wrong-host"},
	{"Host of another site in CONNECT", "CONNECT good.example.org:443 HTTP/1.1\r\nHost: evil.example.net:443\r\n\r\n", "wrong-host"},
	{"two hosts in Host", "GET http://good.example.org/ HTTP/1.1\r\nHost: good.example.org, evil.example.net\r\n\r\n", "bad-host"},
	{"a URL in Host", "GET http://good.example.org/ HTTP/1.1\r\nHost: good.example.org/x\r\n\r\n", "bad-host"},
	{"an empty Host", "GET http://good.example.org/ HTTP/1.1\r\nHost:\r\n\r\n", "bad-host"},
	{"no Host", "GET http://good.example.org/ HTTP/1.1\r\n\r\n", "no-host"},
	{"folded Host", "GET http://good.example.org/ HTTP/1.1\r\nHost: good.example.org\r\n .evil.example.net\r\n\r\n", "bad-field"},
	{"folded field", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "X: a\r\n\tHost: evil.example.net\r\n\r\n", "bad-field"},
	{"space before the colon", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Host : evil.example.net\r\n\r\n", "bad-field"},
	{"field without a name", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + ": x\r\n\r\n", "bad-field"},
	{"field without a colon", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "x\r\n\r\n", "bad-field"},
	{"lines that end in LF", "GET http://good.example.org/ HTTP/1.1\n" + goodHost + "\r\n\r\n", "bad-version"},
	{"a field behind LF", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "X: y\nHost: evil.example.net\r\n\r\n", "bad-field"},
	{"a field behind CR", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "X: y\rHost: evil.example.net\r\n\r\n", "bad-field"},
	{"escape character in a field", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "X: \x1b[31m\r\n\r\n", "bad-field"},

	{"length and chunks", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "length-and-encoding"},
	{"chunks and length", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", "length-and-encoding"},
	{"two lengths", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 4\r\nContent-Length: 0\r\n\r\nGET ", "bad-length"},
	{"two equal lengths", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nGET ", "bad-length"},
	{"a list of lengths", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 4, 4\r\n\r\nGET ", "bad-length"},
	{"a length with a sign", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: +4\r\n\r\nGET ", "bad-length"},
	{"a hexadecimal length", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 0x4\r\n\r\nGET ", "bad-length"},
	{"a negative length", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: -1\r\n\r\n", "bad-length"},
	{"a huge length", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 99999999999999999999\r\n\r\n", "bad-length"},
	{"an unknown encoding", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "bad-encoding"},
	{"two encodings", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "bad-encoding"},
	{"two encoding fields", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "bad-encoding"},
	{"chunks in HTTP/1.0", "POST http://good.example.org/ HTTP/1.0\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "bad-encoding"},
	{"CONNECT with a body", "CONNECT good.example.org:443 HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", "connect-with-body"},

	{"a path as the target", "GET / HTTP/1.1\r\n" + goodHost + "\r\n", "origin-form"},
	{"two slashes as the target", "GET //good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "origin-form"},
	{"an https URL", "GET https://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "https-url"},
	{"an ftp URL", "GET ftp://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-target"},
	{"a file URL", "GET file:///etc/passwd HTTP/1.1\r\n" + goodHost + "\r\n", "bad-target"},
	{"a star as the target", "OPTIONS * HTTP/1.1\r\n" + goodHost + "\r\n", "bad-target"},
	{"a host as the target of GET", "GET good.example.org:80 HTTP/1.1\r\n" + goodHost + "\r\n", "bad-target"},
	{"a URL as the target of CONNECT", "CONNECT http://good.example.org:443/ HTTP/1.1\r\n\r\n", "bad-target"},
	{"two spaces in the request line", "GET  http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-version"},
	{"a tab in the request line", "GET\thttp://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-request-line"},
	{"a space in the target", "GET http://good.example.org/ http://evil.example.net/ HTTP/1.1\r\n" + goodHost + "\r\n", "bad-version"},
	{"no version", "GET http://good.example.org/\r\n" + goodHost + "\r\n", "bad-request-line"},
	{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad-version"},
	{"HTTP/1.2", "GET http://good.example.org/ HTTP/1.2\r\n" + goodHost + "\r\n", "bad-version"},
	{"HTTP/01.1", "GET http://good.example.org/ HTTP/01.1\r\n" + goodHost + "\r\n", "bad-version"},
	{"TRACE", "TRACE http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "trace"},
	{"an unknown expectation", "POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Content-Length: 1\r\nExpect: 200-ok\r\n\r\nx", "expectation"},
	{"a large head", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "X: " + strings.Repeat("x", maxHead) + "\r\n\r\n", "head-too-large"},
	{"many fields", "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + strings.Repeat("X: x\r\n", maxFields) + "\r\n", "too-many-fields"},

	{"a port not listed", "CONNECT good.example.org:22 HTTP/1.1\r\n\r\n", "port-not-listed"},
	{"a mail port", "CONNECT good.example.org:25 HTTP/1.1\r\n\r\n", "port-not-listed"},
	{"port 0", "CONNECT good.example.org:0 HTTP/1.1\r\n\r\n", "bad-target"},
	{"a port that wraps to 443", "CONNECT good.example.org:65979 HTTP/1.1\r\n\r\n", "bad-target"},
	{"a port with a sign", "CONNECT good.example.org:+443 HTTP/1.1\r\n\r\n", "bad-target"},
	{"a port with a zero", "CONNECT good.example.org:0443 HTTP/1.1\r\n\r\n", "bad-target"},
	{"two ports", "CONNECT good.example.org:443:22 HTTP/1.1\r\n\r\n", "bad-target"},
	{"no port", "CONNECT good.example.org HTTP/1.1\r\n\r\n", "bad-target"},
}

func TestNoTrickOfARequestReachesAServer(t *testing.T) {
	for _, attack := range headAttacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, attackPolicy(t), nil)
			everything := newSite(t, hello)
			for _, name := range []string{"good.example.org", "evil.example.net", "bad.wild.example.org", "wild.example.org", "notgood.example.org", "good.example.org.evil.example.net"} {
				w.Route(name, 80, everything.address())
			}
			responses := w.say(attack.raw, 1)
			if len(responses) != 1 || responses[0].StatusCode < 400 {
				t.Errorf("answered %v", responses)
			}
			if code := w.code(); code != attack.code {
				t.Errorf("refused for %q, want %q", code, attack.code)
			}
			if len(everything.received()) != 0 || len(w.Asked()) != 0 || len(w.Dialed()) != 0 {
				t.Errorf("%d requests arrived, names %v were resolved, %v were dialed", len(everything.received()), w.Asked(), w.Dialed())
			}
			if len(w.recorded(Allowed)) != 0 {
				t.Error("recorded as allowed")
			}
		})
	}
}

// TestTheGoodRequestPasses shows that each attack fails because of its attempt, not because
// of parts that all have in common.
func TestTheGoodRequestPasses(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	w.Route("a.wild.example.org", 80, good.address())
	for _, raw := range []string{
		"GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n",
		"GET http://GOOD.example.org.:80/ HTTP/1.1\r\n" + goodHost + "\r\n",
		"GET HTTP://good.example.org HTTP/1.1\r\nhost:good.example.org:80 \r\n\r\n",
		"GET http://good.example.org?a HTTP/1.0\r\n\r\n",
		"GET http://a.wild.example.org/ HTTP/1.1\r\nHost: a.wild.example.org\r\n\r\n",
		"POST http://good.example.org/ HTTP/1.1\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
	} {
		if responses := w.say(raw, 1); len(responses) != 1 || responses[0].StatusCode != http.StatusOK {
			t.Errorf("%q: %v", raw, responses)
		}
	}
	for _, name := range w.Asked() {
		if !strings.HasSuffix(name, "example.org.") {
			t.Errorf("%q was resolved, which search domains would change", name)
		}
	}
}

func TestEachRequestOfAConnectionIsDecided(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good, evil := newSite(t, hello), newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	w.Route("evil.example.net", 80, evil.address())
	request := "GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n"
	attack := "GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n"
	responses := w.say(request+attack+request+"CONNECT evil.example.net:443 HTTP/1.1\r\n\r\n"+request, 5)
	var got []int
	for _, response := range responses {
		got = append(got, response.StatusCode)
	}
	if fmt.Sprint(got) != "[200 403 200 403 200]" || len(evil.received()) != 0 || len(good.received()) != 3 {
		t.Errorf("%v; good has %d, evil %d requests", got, len(good.received()), len(evil.received()))
	}
}

func TestABodyIsNotReadAsARequest(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	smuggled := "GET /smuggled HTTP/1.1\r\nConnection: close\r\n" + goodHost + "\r\n"
	for _, raw := range []string{
		fmt.Sprintf("POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", goodHost, len(smuggled), smuggled),
		fmt.Sprintf("POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", goodHost, len(smuggled), smuggled),
		"POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + smuggled + "0\r\n\r\n",
		"POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n0x5\r\n" + smuggled + "0\r\n\r\n",
		"POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + smuggled,
		"POST http://good.example.org/ HTTP/1.1\r\nConnection: close\r\n" + goodHost + "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: evil.example.net\r\nContent-Length: 5\r\n\r\n",
	} {
		w.say(raw, 2)
	}
	for _, request := range good.received() {
		if request.URL.Path != "/" || request.Host != "good.example.org" || request.Trailer.Get("Host") != "" {
			t.Errorf("the server received %s %s %v", request.URL, request.Host, request.Trailer)
		}
	}
}

func TestCredentialsAndConnectionFieldsStayWithTheProxy(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "X-Server")
		w.Header().Set("X-Server", "hop")
		w.Header().Set("Proxy-Authenticate", "Basic")
	})
	w.Route("good.example.org", 80, good.address())
	responses := w.say("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nConnection: X-Hop, upgrade, HTTP2-Settings\r\nX-Hop: a\r\n"+
		"Upgrade: h2c\r\nHTTP2-Settings: AAA\r\nKeep-Alive: 5\r\nTE: gzip\r\nX-End: b\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n", 1)
	received := good.received()
	if len(received) != 1 || len(responses) != 1 {
		t.Fatalf("%d requests, %d responses", len(received), len(responses))
	}
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "Connection", "X-Hop", "Upgrade", "Http2-Settings", "Keep-Alive", "Te", "Via", "User-Agent", "Accept-Encoding"} {
		if value, ok := received[0].Header[name]; ok {
			t.Errorf("%s: %s arrived", name, value)
		}
	}
	if received[0].Header.Get("X-End") != "b" {
		t.Error("X-End was lost")
	}
	if h := responses[0].Header; h.Get("X-Server") != "" || h.Get("Proxy-Authenticate") != "" {
		t.Errorf("fields of the other connection came back: %v", h)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	evil := newSite(t, hello)
	good := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://evil.example.net/", http.StatusFound)
	})
	w.Route("good.example.org", 80, good.address())
	w.Route("evil.example.net", 80, evil.address())
	responses := w.say("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"\r\n", 1)
	if len(responses) != 1 || responses[0].StatusCode != http.StatusFound || len(evil.received()) != 0 {
		t.Errorf("%v, %d requests at the other site", responses, len(evil.received()))
	}
}

func TestAServerCannotSwitchProtocolsUnasked(t *testing.T) {
	const connection = "Connection: Upgrade\r\n"
	for _, c := range []struct{ name, asked string }{
		{"tunnel", connection + "Upgrade: tunnel\r\n"}, {"tunnel", connection + "Upgrade: websocket\r\n"}, {"websocket", ""}, {"websocket", connection + "Upgrade: h2c\r\n"}, {"websocket", "Upgrade: websocket\r\n"},
	} {
		w := newWorld(t, attackPolicy(t), nil)
		good := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+c.name+"\r\n\r\nhello")
			conn.Close()
		})
		w.Route("good.example.org", 80, good.address())
		responses := w.say("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+c.asked+"\r\n", 1)
		if len(responses) != 1 || responses[0].StatusCode != http.StatusBadGateway {
			t.Errorf("%v: %v", c, responses)
		}
	}
}

// Otherwise two goroutines would read from the client.
func TestAServerCannotSwitchProtocolsWithinABody(t *testing.T) {
	for body, want := range map[string]int{"all": http.StatusSwitchingProtocols, "al": http.StatusBadGateway} {
		w := newWorld(t, attackPolicy(t), nil)
		good := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if body == "all" {
				_, _ = io.ReadAll(r.Body)
			}
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			conn.Close()
		})
		w.Route("good.example.org", 80, good.address())
		conn := w.dialProxy()
		_, _ = io.WriteString(conn, "GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\n"+body)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != want {
			t.Errorf("%d of 3 bytes: %v, %v", len(body), response, err)
		}
	}
}

// A server that reads names in another way than the proxy gets the decided one.
func TestTheForwardedHostFieldIsCanonical(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	w.say("GET http://GOOD.example.org./ HTTP/1.1\r\nHost: Good.Example.Org.:80\r\n\r\n", 1)
	if received := good.received(); len(received) != 1 || received[0].Host != "good.example.org" {
		t.Errorf("%d requests arrived: %v", len(received), received)
	}
}
