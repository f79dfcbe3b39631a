package server

import (
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
	"testing"

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
