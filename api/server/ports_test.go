package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/api/forward"
	"aibox/session"
	"aibox/session/ports"
)

// portMachine has one program on port 3000 of each sandbox.
type portMachine struct{ address string }

func (portMachine) Ports(context.Context, session.ID) ([]ports.Listening, error) {
	return []ports.Listening{{Port: 3000, Address: netip.MustParseAddr("127.0.0.1")}}, nil
}

func (m portMachine) DialPort(ctx context.Context, _ session.ID, port uint16) (net.Conn, error) {
	if port != 3000 {
		return nil, ports.ErrNothingListens
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", m.address)
}

// newPortSite starts a server with a program on port 3000 of each sandbox.
func newPortSite(t *testing.T, serve http.HandlerFunc, change func(*Options)) *site {
	t.Helper()
	backend := httptest.NewServer(serve)
	t.Cleanup(backend.Close)
	s := newSite(t, func(o *Options) {
		o.Ports = &Ports{Sessions: portMachine{backend.Listener.Addr().String()}, Key: forward.Key{1}}
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(s.Close)
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestAPortIsReachedByItsTenantWithItsRight(t *testing.T) {
	s := newPortSite(t, hello, nil)
	own, foreign := s.sandbox("a"), s.sandbox("b")
	token := bearer(s.token("a"))
	for name, c := range map[string]struct {
		sandbox, header string
		status          int
	}{
		"its tenant":        {own, token, 200},
		"another tenant":    {foreign, token, 404},
		"no such sandbox":   {"00099-sandbox", token, 404},
		"no token":          {own, "X: y", 401},
		"a wrong token":     {own, bearer(auth.NewToken()), 403},
		"without the right": {own, bearer(s.token("a", "execute")), 403},
	} {
		got := s.request("GET", "/v1/sandboxes/"+c.sandbox+"/ports/3000/", "", c.header)
		if got.status != c.status || (got.body == "hello") != (c.status == 200) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := s.request("GET", "/v1/sandboxes/"+own+"/ports/4000/", "", token); got.status != 502 {
		t.Errorf("a port without a program: %d %s", got.status, got.body)
	}
}

func TestAnErrorOfAPortHasTheIDOfItsRequest(t *testing.T) {
	s := newPortSite(t, hello, nil)
	got := s.request("GET", "/v1/sandboxes/"+s.sandbox("a")+"/ports/3000/", "")
	id := got.header.Get(requestHeader)
	if id == "" || !strings.Contains(got.body, fmt.Sprintf(`"id":%q`, id)) {
		t.Errorf("the header has the id %q, and the body is %s", id, got.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 || s.calls[0].Request != id {
		t.Errorf("the record is %+v", s.calls)
	}
}

// net/http reads the rest of a small body after the answer of the forwarder.
func TestARequestToAPortWhoseBodyDoesNotArriveIsCutOff(t *testing.T) {
	s := newPortSite(t, hello, func(o *Options) { o.Limits.Stall = 100 * time.Millisecond })
	id, token := s.sandbox("a"), bearer(s.token("a"))
	host, path := "POST / HTTP/1.1\r\nHost: 3000-"+id+".localhost\r\n", "POST /v1/sandboxes/"+id+"/ports/3000/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	for name, text := range map[string]string{
		"by host":                     host + "Content-Length: 1000\r\n\r\n",
		"by path":                     path + "Content-Length: 1000\r\n\r\n",
		"in chunks":                   host + "Transfer-Encoding: chunked\r\n\r\n100\r\nabc",
		"to a port without a program": strings.Replace(path, "3000", "4000", 1) + token + "\r\nContent-Length: 1000\r\n\r\n",
	} {
		conn := s.connect(text)
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if answer, err := io.ReadAll(conn); err != nil || len(answer) == 0 {
			t.Errorf("%s: the connection has %q, %v", name, answer, err)
		}
		_ = conn.Close()
	}
}

// pausedSandboxes are sandboxes that can all be paused.
type pausedSandboxes struct {
	Sandboxes
	paused atomic.Bool
}

func (p *pausedSandboxes) Running(ctx context.Context, tenant session.Tenant, id string) (session.ID, error) {
	if p.paused.Load() {
		return "", session.WrongState("the sandbox %s is paused", id)
	}
	return p.Sandboxes.Running(ctx, tenant, id)
}

// The connection of the first request is kept, and a paused sandbox would never answer on it.
func TestAPortOfAPausedSandboxIsAConflictDespiteAKeptConnection(t *testing.T) {
	var served atomic.Int32
	sandboxes := &pausedSandboxes{}
	s := newPortSite(t, func(w http.ResponseWriter, r *http.Request) { served.Add(1); hello(w, r) }, func(o *Options) {
		sandboxes.Sandboxes, o.Services.Sandboxes = o.Services.Sandboxes, sandboxes
	})
	path, token := "/v1/sandboxes/"+s.sandbox("a")+"/ports/3000/", bearer(s.token("a"))
	if got := s.request("GET", path, "", token); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	sandboxes.paused.Store(true)
	if got := s.request("GET", path, "", token); got.status != 409 || !strings.Contains(got.body, "is paused") || served.Load() != 1 {
		t.Errorf("%d %s, and the program got %d requests", got.status, got.body, served.Load())
	}
	sandboxes.paused.Store(false)
	if got := s.request("GET", path, "", token); got.status != 200 {
		t.Errorf("after it was resumed: %d %s", got.status, got.body)
	}
}

// A program may end its stream, and still read what the client sends.
func TestAProgramOnAnUpgradedConnectionCanEndItsStreamAndReadOn(t *testing.T) {
	given := make(chan string, 1)
	s := newPortSite(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: any/1\r\n\r\nbye")
		_ = conn.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(in)
		given <- string(text)
	}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET /v1/sandboxes/%s/ports/3000/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: any/1\r\n%s\r\n\r\n", s.sandbox("a"), bearer(s.token("a")))
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", response, err)
	}
	if text, err := io.ReadAll(in); string(text) != "bye" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	_, _ = io.WriteString(conn, "more")
	_ = conn.(*net.TCPConn).CloseWrite()
	if got := <-given; got != "more" {
		t.Errorf("after its end, the program got %q", got)
	}
}

func TestPortsAreListedAndSignedForTheirTenant(t *testing.T) {
	s := newPortSite(t, hello, nil)
	own, foreign := s.sandbox("a"), s.sandbox("b")
	token := bearer(s.token("a"))
	if got := s.request("GET", "/v1/sandboxes/"+own+"/ports", "", token); got.status != 200 || !strings.Contains(got.body, "3000") {
		t.Errorf("the list: %d %s", got.status, got.body)
	}
	if got := s.request("GET", "/v1/sandboxes/"+foreign+"/ports", "", token); got.status != 404 {
		t.Errorf("the list of another tenant's sandbox: %d %s", got.status, got.body)
	}
	sign := func(sandbox, port, ttl string) answer {
		return s.request("POST", "/aibox.v1.Ports/Sign", fmt.Sprintf(`{"sandbox_id":%q,"port":%s,"ttl":%q}`, sandbox, port, ttl), token)
	}
	for name, got := range map[string]answer{
		"port 0": sign(own, "0", "60s"), "port 65536": sign(own, "65536", "60s"), "no time": sign(own, "3000", "0s"), "too long": sign(own, "3000", "10000h"),
		"another tenant's": sign(foreign, "3000", "60s"),
	} {
		if got.status == 200 {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	got := sign(own, "3000", "60s")
	var made struct{ URL string }
	if err := json.Unmarshal([]byte(got.body), &made); err != nil {
		t.Fatal(err)
	}
	signed, err := url.Parse(made.URL)
	if err != nil || got.status != 200 || !strings.HasPrefix(signed.Host, "3000-"+own+".localhost:") {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	if got := s.request("GET", "/?"+signed.RawQuery, "", "Host: "+signed.Host); got.status != 200 || got.body != "hello" {
		t.Errorf("the signed URL: %d %s", got.status, got.body)
	}
	if got := s.request("GET", "/?"+signed.RawQuery, "", "Host: "+strings.Replace(signed.Host, own, foreign, 1)); got.status == 200 {
		t.Errorf("the signature is good for another sandbox: %s", got.body)
	}
}

func TestForwardingCountsAsACallOfItsTenant(t *testing.T) {
	arrived, end := make(chan bool), make(chan bool)
	s := newPortSite(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-end
	}, func(o *Options) { o.Limits = Limits{TenantCalls: 1} })
	path := "/v1/sandboxes/" + s.sandbox("a") + "/ports/3000/"
	token := bearer(s.token("a"))
	first := make(chan answer, 1)
	go func() { first <- s.request("GET", path, "", token) }()
	<-arrived
	for _, second := range []string{path, "/v1/sandboxes"} {
		if got := s.request("GET", second, "", token); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "1 calls at once") {
			t.Errorf("%s: %d %s", second, got.status, got.body)
		}
	}
	if got := s.request("GET", "/v1/sandboxes", "", bearer(s.token("b"))); got.status != 200 {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	close(end)
	if got := <-first; got.status != 200 {
		t.Errorf("the first request: %d %s", got.status, got.body)
	}
	go func() { <-arrived }()
	if got := s.request("GET", path, "", token); got.status != 200 {
		t.Errorf("after it: %d %s", got.status, got.body)
	}
}

func TestACallerOfAPortLosesItWithItsTokenRightOrTenant(t *testing.T) {
	s := newPortSite(t, hello, nil)
	find := func(token string) forward.Caller {
		t.Helper()
		caller, err := s.ports.Authorize(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return caller
	}
	good := find(s.token("a"))
	if err := s.ports.Check(t.Context(), good); err != nil {
		t.Error(err)
	}
	if err := s.ports.Check(t.Context(), forward.Caller{Tenant: "b", Token: good.Token}); err == nil {
		t.Error("the token is good for another tenant")
	}
	if err := s.ports.Check(t.Context(), forward.Caller{Tenant: "a"}); err == nil {
		t.Error("a tenant needs no token")
	}
	if err := s.ports.Check(t.Context(), forward.Caller{Tenant: session.LocalTenant}); err != nil {
		t.Errorf("the machine's user needs one: %v", err)
	}
	if err := errors.Join(s.store.RevokeToken(t.Context(), good.Token)); err != nil {
		t.Fatal(err)
	}
	if err := s.ports.Check(t.Context(), good); err == nil {
		t.Error("it outlives its token")
	}
	if _, err := s.ports.Authorize(t.Context(), ""); err == nil {
		t.Error("a request on TCP needs no token")
	}
	if caller, err := s.ports.Authorize(WithLocal(t.Context()), ""); err != nil || caller.Tenant != session.LocalTenant {
		t.Errorf("a request on the Unix socket: %+v, %v", caller, err)
	}
}

func TestRequestsThatReachNoPortAreRecorded(t *testing.T) {
	s := newPortSite(t, hello, nil)
	own, foreign := s.sandbox("a"), s.sandbox("b")
	token, weak := bearer(s.token("a")), bearer(s.token("a", "execute"))
	path := func(sandbox string, port int) string {
		return fmt.Sprintf("/v1/sandboxes/%s/ports/%d/secret", sandbox, port)
	}
	for _, c := range []struct{ path, header, tenant, method, subject, kind string }{
		{path(foreign, 3000), token, "a", "GET port 3000", foreign, "not_found"},
		{path(own, 4000), token, "a", "GET port 4000", own, "conflict"},
		{path(own, 3000), weak, "a", "GET port 3000", own, "refused"},
		{path(own, 3000), bearer(auth.NewToken()), "", "GET port 3000", own, "refused"},
		{path(own, 3000), "X: y", "", "GET port 3000", own, "refused"},
		{path(own, 3000), token, "", "", "", ""},
	} {
		s.mu.Lock()
		s.calls = nil
		s.mu.Unlock()
		s.request("GET", c.path, "", c.header)
		s.mu.Lock()
		var got Call
		if len(s.calls) > 0 {
			got = s.calls[0]
		}
		if len(s.calls) > 1 || string(got.Tenant) != c.tenant || got.Method != c.method || got.Subject != c.subject || got.Kind != c.kind || (got.Token == "") != (c.tenant == "") {
			t.Errorf("%s with %.20s: %+v", c.path, c.header, s.calls)
		}
		s.mu.Unlock()
	}
}
