package forward

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"
)

const (
	aliceToken = "aibox_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	bobToken   = "aibox_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// world is a server with a Forwarder in front of an API, and the sandboxes of two tenants:
// Alice has 0dq4f-a and 0dq4f-b, Bob has 0dq4f-c. Each has a server on port 3000.
type world struct {
	*testing.T
	forwarder *Forwarder
	server    *httptest.Server
	client    *http.Client
	trace     *httptrace.ClientTrace // of requests; may be nil

	mu      sync.Mutex
	dials   int
	api     []string          // paths of the requests that the API got
	seen    []*http.Request   // requests that sandboxes got
	revoked map[string]bool   // tokens
	backend map[string]string // addresses by "tenant sandbox port"
}

func (w *world) Authorize(_ context.Context, token string) (Caller, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, caller := range map[string]Caller{aliceToken: {"alice", "a"}, bobToken: {"bob", "b"}} {
		if token == id && !w.revoked[caller.Token] {
			return caller, nil
		}
	}
	return Caller{}, fault.New(fault.Refused, "the token is not valid")
}

func (w *world) Check(_ context.Context, caller Caller) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revoked[caller.Token] {
		return fault.New(fault.Refused, "the token is not valid")
	}
	return nil
}

// closedPort is closed by the permissions of all sandboxes.
const closedPort = 4500

func (w *world) DialPort(ctx context.Context, tenant session.Tenant, sandbox string, port uint16) (net.Conn, error) {
	w.mu.Lock()
	w.dials++
	address := w.backend[fmt.Sprint(tenant, " ", sandbox, " ", port)]
	known := w.backend[fmt.Sprint(tenant, " ", sandbox, " 3000")] != ""
	w.mu.Unlock()
	switch {
	case !known:
		return nil, fault.New(fault.NotFound, "there is no sandbox")
	case port == closedPort:
		return nil, fault.New(fault.Refused, "the permissions of this sandbox close port %d", port)
	case address == "":
		return nil, ports.ErrNothingListens
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// newWorld starts everything; serve is the program in all sandboxes.
func newWorld(t *testing.T, serve http.HandlerFunc) *world {
	t.Helper()
	w := &world{T: t, revoked: map[string]bool{}, backend: map[string]string{}}
	for sandbox, tenant := range map[string]string{"0dq4f-a": "alice", "0dq4f-b": "alice", "0dq4f-c": "bob"} {
		backend := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.seen = append(w.seen, r.Clone(context.Background()))
			w.mu.Unlock()
			out.Header().Set("Served-By", sandbox)
			serve(out, r)
		}))
		t.Cleanup(backend.Close)
		w.backend[tenant+" "+sandbox+" 3000"] = backend.Listener.Addr().String()
	}
	w.forwarder = New(Options{Authorizer: w, Dialer: w, Key: Key{1}})
	t.Cleanup(w.forwarder.Close)
	w.server = httptest.NewServer(w.forwarder.Wrap(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.api = append(w.api, r.URL.Path)
		w.mu.Unlock()
		out.WriteHeader(http.StatusTeapot)
	})))
	t.Cleanup(w.server.Close)
	address := w.server.Listener.Addr().String()
	w.client = &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w
}

// answer is an answer with its body.
type answer struct {
	*http.Response
	text string
}

// do makes a request; each header is "Name: value".
func (w *world) do(method, target string, headers ...string) answer {
	w.Helper()
	ctx := context.Background()
	if w.trace != nil {
		ctx = httptrace.WithClientTrace(ctx, w.trace)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return answer{response, string(text)}
}

// raw sends bytes and returns the answer, until the server closes the connection or sends
// nothing more.
func (w *world) raw(text string) string {
	w.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
	_ = conn.(*net.TCPConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	got, _ := io.ReadAll(conn)
	return string(got)
}

// last returns the last request that a sandbox got.
func (w *world) last() *http.Request {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		w.Fatal("no sandbox got a request")
	}
	return w.seen[len(w.seen)-1]
}

// reached returns how many requests sandboxes and the API got.
func (w *world) reached() (sandboxes, api int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen), len(w.api)
}

const (
	byPath = "http://127.0.0.1/v1/sandboxes/0dq4f-a/ports/3000"
	byHost = "http://3000-0dq4f-a.localhost"
	bearer = "Authorization: Bearer " + aliceToken
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestRequestReachesThePortByPathAndByHostName(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(out, "%s %s %s %s", r.Method, r.RequestURI, r.Host, body)
	})
	for target, want := range map[string]string{
		byPath + "/a%2Fb/c?x=1&y=%20": "GET /a%2Fb/c?x=1&y=%20 localhost:3000 ",
		byPath:                        "GET / localhost:3000 ",
		byPath + "//a/./b":            "GET //a/./b localhost:3000 ",
		byHost + ":8080/a%2Fb/c?x=1":  "GET /a%2Fb/c?x=1 3000-0dq4f-a.localhost:8080 ",
		"http://3000-0DQ4F-A.LocalHost/v1/sandboxes/0dq4f-b/ports/3000/": "GET /v1/sandboxes/0dq4f-b/ports/3000/ 3000-0dq4f-a.localhost ",
	} {
		if got := w.do("GET", target, bearer); got.StatusCode != 200 || got.text != want || got.Header.Get("Served-By") != "0dq4f-a" {
			t.Errorf("%s: %d %q, want %q", target, got.StatusCode, got.text, want)
		}
	}
	w.do("GET", byPath+"/x", bearer)
	if got := w.last().Header; got.Get("X-Forwarded-Prefix") != "/v1/sandboxes/0dq4f-a/ports/3000" || got.Get("X-Forwarded-Host") != "" {
		t.Errorf("by path, the program gets %v", got)
	}
	w.do("GET", byHost+"/x", bearer)
	if got := w.last().Header; got.Get("X-Forwarded-Host") != "3000-0dq4f-a.localhost" || got.Get("X-Forwarded-Proto") != "http" || got.Get("X-Forwarded-Prefix") != "" {
		t.Errorf("by host name, the program gets %v", got)
	}
	if got := w.do("GET", "http://127.0.0.1/v1/sandboxes/0dq4f-a/ports/4000/", bearer); got.StatusCode != 502 || !strings.Contains(got.text, "nothing listens on port 4000") {
		t.Errorf("a port without a server: %d %q", got.StatusCode, got.text)
	}
}

func TestOtherPathsReachTheAPI(t *testing.T) {
	w := newWorld(t, hello)
	for _, path := range []string{
		"/v1/sandboxes/0dq4f-a/ports", "/v1/sandboxes/0dq4f-a/ports/3000:sign", "/v1/sandboxes/0dq4f-a/files/ports/3000/x", "/v1/templates",
		"/v1/sandboxes/0dq4f-a/ports/x/",
	} {
		if got := w.do("GET", "http://127.0.0.1"+path); got.StatusCode != http.StatusTeapot {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestRequestWithoutAValidCredentialIsRefused(t *testing.T) {
	w := newWorld(t, hello)
	for name, headers := range map[string][]string{
		"none":              {},
		"another form":      {"Authorization: Bearer secret"},
		"an unknown token":  {"Authorization: Bearer aibox_" + strings.Repeat("x", 43)},
		"a wrong header":    {"Aibox-Token: x"},
		"a cookie by path":  {"Cookie: aibox-port=" + w.forwarder.options.Key.signGrant(cookieGrant("0dq4f-a", 3000))},
		"an unsigned grant": {"Cookie: aibox-port=eyJ1IjoiY29va2llIn0.AAAA"},
	} {
		for _, target := range []string{byPath + "/", byHost + "/"} {
			if name == "a cookie by path" && target != byPath+"/" {
				continue
			}
			if got := w.do("GET", target, headers...); got.StatusCode != 401 && got.StatusCode != 403 {
				t.Errorf("%s: %s: %d", name, target, got.StatusCode)
			}
		}
	}
	w.revoked["a"] = true
	if got := w.do("GET", byPath+"/", bearer); got.StatusCode != 403 {
		t.Errorf("a revoked token: %d", got.StatusCode)
	}
	if sandboxes, api := w.reached(); sandboxes+api > 0 {
		t.Errorf("%d requests reached a sandbox, and %d the API", sandboxes, api)
	}
}

func cookieGrant(sandbox string, port uint16) grant {
	return grant{Use: inCookie, Sandbox: sandbox, Port: port, Tenant: "alice", Token: "a", Expires: time.Now().Add(time.Hour).Unix()}
}

// Connections to sandboxes are reused, but never for another tenant.
func TestSandboxOfAnotherTenantDoesNotExist(t *testing.T) {
	w := newWorld(t, hello)
	if got := w.do("GET", byPath+"/", bearer); got.StatusCode != 200 {
		t.Fatal(got.StatusCode)
	}
	bob := "Authorization: Bearer " + bobToken
	foreign := w.do("GET", byPath+"/", bob)
	missing := w.do("GET", "http://127.0.0.1/v1/sandboxes/0dq4f-x/ports/3000/", bob)
	if foreign.StatusCode != 404 || strings.ReplaceAll(foreign.text, "0dq4f-a", "0dq4f-x") != missing.text {
		t.Errorf("%d %q, and for one that does not exist %q", foreign.StatusCode, foreign.text, missing.text)
	}
	if got := w.do("GET", byHost+"/", bob); got.StatusCode != 404 {
		t.Errorf("by host name: %d", got.StatusCode)
	}
	if got := w.do("GET", byHost+"/", "Cookie: aibox-port="+w.forwarder.options.Key.signGrant(cookieGrant("0dq4f-c", 3000))); got.StatusCode == 200 {
		t.Error("a grant for another sandbox was accepted")
	}
}

func TestWebSocketIsForwarded(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(out).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSet-Cookie: aibox-port=x\r\n\r\n", r.Header.Get("Upgrade"))
		_, _ = io.Copy(conn, in)
	})
	conn, in, response := w.upgrade("/v1/sandboxes/0dq4f-a/ports/3000/socket", "127.0.0.1", bearer)
	defer conn.Close()
	if response.StatusCode != 101 || response.Header.Get("Upgrade") != "any/1" || response.Header.Get("Set-Cookie") != "" {
		t.Fatalf("%+v", response)
	}
	_, _ = io.WriteString(conn, "ping")
	got := make([]byte, 4)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "ping" {
		t.Errorf("%q, %v", got, err)
	}
}

// A client of a protocol such as that of `docker attach` ends its input, and reads on.
func TestAClientOfAnUpgradedConnectionCanEndItsStreamAndReadOn(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, _ *http.Request) {
		conn, in, err := http.NewResponseController(out).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: any/1\r\n\r\n")
		given, _ := io.ReadAll(in)
		fmt.Fprintf(conn, "%d bytes", len(given))
	})
	conn, in, _ := w.upgrade("/v1/sandboxes/0dq4f-a/ports/3000/", "127.0.0.1", bearer)
	defer conn.Close()
	_, _ = io.WriteString(conn, "input")
	_ = conn.(*net.TCPConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(in); string(got) != "5 bytes" {
		t.Errorf("%q, %v", got, err)
	}
}

// upgrade requests another protocol.
func (w *world) upgrade(path, host string, headers ...string) (net.Conn, *bufio.Reader, *http.Response) {
	w.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: any/1\r\n%s\r\n\r\n", path, host, strings.Join(headers, "\r\n"))
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		w.Fatal(err)
	}
	return conn, in, response
}

func TestTunnelEndsWhenItsTokenIsRevoked(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(out).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: any/1\r\n\r\n")
		_, _ = io.Copy(io.Discard, in)
	})
	w.forwarder.recheck = time.Millisecond
	conn, in, response := w.upgrade("/", "3000-0dq4f-a.localhost", bearer)
	defer conn.Close()
	if response.StatusCode != 101 {
		t.Fatal(response.Status)
	}
	w.mu.Lock()
	w.revoked["a"] = true
	w.mu.Unlock()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the tunnel is still open: %v", err)
	}
}

// net/http and the transport both wait for a Read of a body before they end a request.
func TestARequestWhoseBodyDoesNotArriveEndsWithItsProgramAndItsRight(t *testing.T) {
	hijack := func(out http.ResponseWriter, text string) {
		if conn, _, err := http.NewResponseController(out).Hijack(); err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	for name, c := range map[string]struct {
		serve   func(w *world, out http.ResponseWriter, r *http.Request)
		recheck time.Duration
		want    string
	}{
		"it answers and closes": {serve: func(_ *world, out http.ResponseWriter, _ *http.Request) {
			hijack(out, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		}, want: "403 Forbidden"},
		"it answers and reads": {serve: func(_ *world, out http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(out).EnableFullDuplex()
			_, _ = io.WriteString(out, "early")
			_ = http.NewResponseController(out).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		}, want: "early"},
		"it closes": {serve: func(_ *world, out http.ResponseWriter, _ *http.Request) { hijack(out, "") }},
		"the token is revoked": {serve: func(w *world, _ http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.revoked["a"] = true
			w.mu.Unlock()
			_, _ = io.Copy(io.Discard, r.Body)
		}, recheck: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var w *world
			w = newWorld(t, func(out http.ResponseWriter, r *http.Request) { c.serve(w, out, r) })
			if c.recheck == 0 { // a lost right ends it without a limit, too
				w.forwarder.options.Stall = 100 * time.Millisecond
			}
			w.forwarder.recheck = cmp.Or(c.recheck, w.forwarder.recheck)
			conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost\r\n%s\r\nContent-Length: 1000\r\n\r\n", bearer)
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			got, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(string(got), c.want) || c.recheck > 0 && len(got) > 0 {
				t.Errorf("the client got %q, %v", got, err)
			}
		})
	}
}

func TestABodyThatPausesBeforeItsProgramAnswersHasNoLimit(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		fmt.Fprint(out, string(text), err)
	})
	w.forwarder.options.Stall = time.Nanosecond
	out, in := io.Pipe()
	go func() {
		_, _ = io.WriteString(in, "a")
		for {
			w.mu.Lock()
			begun := len(w.seen) > 0
			w.mu.Unlock()
			if begun {
				break
			}
			runtime.Gosched()
		}
		_, _ = io.WriteString(in, "b")
		_ = in.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), "POST", byHost+"/", out)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	response, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "ab<nil>" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestSignedURLBecomesACookie(t *testing.T) {
	w := newWorld(t, hello)
	signed := w.forwarder.Sign(Caller{"alice", "a"}, "0dq4f-a", 3000, time.Minute)
	if signed.Host != "3000-0dq4f-a.localhost" {
		t.Fatal(signed.Host)
	}
	page := "http://" + signed.Host + "//evil.example/%2e?q=1&" + signed.Query
	entered := w.do("GET", page, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: cross-site")
	if entered.StatusCode != 303 || entered.Header.Get("Location") != "/evil.example/%2e?q=1" || entered.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("%d %v", entered.StatusCode, entered.Header)
	}
	cookie := entered.Cookies()[0]
	if cookie.Domain != "" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" {
		t.Errorf("%+v", cookie)
	}
	carry := "Cookie: app=1; aibox-port=bogus; " + cookie.Name + "=" + cookie.Value + "; other=2"
	if got := w.do("GET", byHost+"/?x=1", carry); got.StatusCode != 200 || w.last().Header.Get("Cookie") != "app=1; other=2" {
		t.Errorf("%d, the sandbox got the cookies %q", got.StatusCode, w.last().Header.Get("Cookie"))
	}
	for name, target := range map[string]string{
		"another port":    "http://3001-0dq4f-a.localhost/",
		"another sandbox": "http://3000-0dq4f-b.localhost/",
		"by path":         byPath + "/",
		"in a query":      byHost + "/?" + grantParameter + "=" + url.QueryEscape(cookie.Value),
	} {
		headers := []string{carry}
		if name == "in a query" {
			headers = nil
		}
		if got := w.do("GET", target, headers...); got.StatusCode != 401 && got.StatusCode != 403 {
			t.Errorf("%s: the cookie was accepted: %d", name, got.StatusCode)
		}
	}
	direct := w.do("GET", byPath+"/data?a=1&"+signed.Query+"&b=2")
	if direct.StatusCode != 200 || w.last().RequestURI != "/data?a=1&b=2" {
		t.Errorf("a program with a signed URL: %d, the sandbox got %s", direct.StatusCode, w.last().RequestURI)
	}
	w.forwarder.now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	if got := w.do("GET", page); got.StatusCode != 403 {
		t.Errorf("an expired URL: %d", got.StatusCode)
	}
	w.forwarder.now = time.Now
	w.revoked["a"] = true
	for _, headers := range [][]string{{carry}, nil} {
		if got := w.do("GET", page, headers...); got.StatusCode != 403 {
			t.Errorf("after the token was revoked: %d", got.StatusCode)
		}
	}
}

func TestAPortThatTheCallerMustNotUseIsForbiddenWithTheReason(t *testing.T) {
	w := newWorld(t, hello)
	got := w.do("GET", strings.Replace(byPath, "3000", fmt.Sprint(closedPort), 1)+"/", "Authorization: Bearer "+aliceToken)
	if got.StatusCode != http.StatusForbidden || !strings.Contains(got.text, "close port 4500") {
		t.Errorf("%d: %s", got.StatusCode, got.text)
	}
}
