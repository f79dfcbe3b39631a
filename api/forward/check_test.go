package forward

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
)

func TestTargetIsOfThePathOrTheHostNameAlone(t *testing.T) {
	f := New(Options{})
	const path, host = "/v1/sandboxes/0dq4f-a/ports/3000/x", "3000-0dq4f-a.localhost"
	for name, c := range map[string]struct {
		host string
		url  url.URL
		mine bool
		ok   bool
	}{
		"by path":                        {"127.0.0.1", url.URL{Path: path}, true, true},
		"by host name":                   {host, url.URL{Path: "/x"}, true, true},
		"with an address":                {"127.0.0.1", url.URL{Host: "127.0.0.1", Path: path}, true, false},
		"with a scheme":                  {"127.0.0.1", url.URL{Scheme: "http", Path: path}, true, false},
		"a path without a slash":         {host, url.URL{Path: "x"}, true, false},
		"port 0":                         {"0-0dq4f-a.localhost", url.URL{Path: "/"}, true, false},
		"a host name with a wrong id":    {"3000-a_b.localhost", url.URL{Path: "/"}, true, false},
		"a path with a wrong id":         {"127.0.0.1", url.URL{Path: "/v1/sandboxes/a_b/ports/3000/"}, true, false},
		"a host name with a wrong port":  {host + ":x", url.URL{Path: "/"}, true, false},
		"a host name without a number":   {"api-0dq4f.localhost", url.URL{Path: "/"}, false, false},
		"a host name with a dash before": {"-0dq4f.localhost", url.URL{Path: "/"}, false, false},
	} {
		got, mine, err := f.target(&http.Request{Host: c.host, URL: &c.url})
		if mine != c.mine || mine && (err == nil) != c.ok || c.ok && (got.sandbox != "0dq4f-a" || got.port != 3000) {
			t.Errorf("%s: %+v, %v, %v", name, got, mine, err)
		}
	}
	for text, want := range map[string]bool{
		"a": true, "0dq4f-a": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "a-": false, "A": false, "a.b": false,
	} {
		if isID(text) != want {
			t.Errorf("%q is an id: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"..": true, "a/..": true, `a\..`: true, "a%2f..%2fb": true, "a%5C..": true, "%2e%2E": true, "%zz": true, "a..b/...": false} {
		if hasDotSegment(text) != want {
			t.Errorf("%q leaves the port: %v", text, !want)
		}
	}
	for text, want := range map[string]uint16{"1": 1, "65535": 65535, "0": 0, "080": 0, "+80": 0, "65536": 0, "": 0} {
		if got := parsePort(text); got != want {
			t.Errorf("%q is port %d", text, got)
		}
	}
}

// deadlines is a writer that records which deadlines are removed.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write bool
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = at.IsZero(); return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = at.IsZero(); return nil }

func TestServePortTakesNoTargetOfTheRequest(t *testing.T) {
	w := newWorld(t, hello)
	serve := func(r *http.Request, sandbox string, port uint16) *deadlines {
		answer := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		w.forwarder.ServePort(answer, r, Caller{"alice", "a"}, sandbox, port)
		return answer
	}
	request := func(change func(*http.Request)) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/x", nil)
		change(r)
		return r
	}
	good := func(*http.Request) {}
	for name, c := range map[string]struct {
		change  func(*http.Request)
		sandbox string
		port    uint16
		status  int
	}{
		"CONNECT":                {func(r *http.Request) { r.Method = http.MethodConnect }, "0dq4f-a", 3000, 400},
		"an address":             {func(r *http.Request) { r.URL.Host = "127.0.0.1" }, "0dq4f-a", 3000, 400},
		"a path without a slash": {func(r *http.Request) { r.URL.Path = "x" }, "0dq4f-a", 3000, 400},
		"port 0":                 {good, "0dq4f-a", 0, 400},
		"an address for an id":   {good, "127.0.0.1", 3000, 400},
		"a page":                 {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, "0dq4f-a", 3000, 403},
	} {
		if got := serve(request(c.change), c.sandbox, c.port); got.Code != c.status {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
	if w.dials > 0 {
		t.Errorf("%d connections to sandboxes were made", w.dials)
	}
	if got := serve(request(good), "0dq4f-a", 3000); got.Code != 200 || !got.read || !got.write {
		t.Errorf("%d, and the deadlines are lifted: %v and %v", got.Code, got.read, got.write)
	}
}

func TestRequestsAreCountedWhileTheyRun(t *testing.T) {
	ended, full := make(chan struct{}, 1), error(nil)
	w := newWorld(t, hello)
	w.forwarder.options.Begin = func(Caller) (func(), error) { return func() { ended <- struct{}{} }, full }
	if got := w.do("GET", byPath+"/", bearer); got.StatusCode != 200 {
		t.Errorf("%d", got.StatusCode)
	}
	<-ended // the client may have its answer before
	full = errors.New("too many")
	if got := w.do("GET", byPath+"/", bearer); got.StatusCode != 429 || len(w.seen) != 1 {
		t.Errorf("%d, %d requests reached the sandbox", got.StatusCode, len(w.seen))
	}
}

// anyone is an Authorizer that accepts callers without a token, and reports its checks.
type anyone struct{ checked chan struct{} }

func (anyone) Authorize(context.Context, string) (Caller, error) { return Caller{"alice", ""}, nil }

func (a anyone) Check(context.Context, Caller) error { a.checked <- struct{}{}; return nil }

// A page does not have the rights of the user whose browser shows it.
func TestCallerWithoutATokenReachesPortsOnlyByPath(t *testing.T) {
	w := newWorld(t, hello)
	w.forwarder.options.Authorizer = anyone{}
	if got := w.do("GET", byPath+"/"); got.StatusCode != 200 {
		t.Errorf("by path: %d", got.StatusCode)
	}
	if got := w.do("GET", byHost+"/"); got.StatusCode != 401 {
		t.Errorf("by host name: %d", got.StatusCode)
	}
}

func TestRequestLastsAsLongAsItsCredential(t *testing.T) {
	authorizer := anyone{make(chan struct{})}
	f := New(Options{Authorizer: authorizer})
	defer f.Close()
	f.recheck = time.Millisecond
	f.watch(t.Context(), func() {}, grant{Expires: time.Now().Unix() - 1}.credential()) // returns without a check
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.watch(ctx, func() { t.Error("a token without an end ends") }, credential{})
	}()
	for range 2 {
		select {
		case <-authorizer.checked:
		case <-done:
			t.Fatal("a token is not checked again")
		}
	}
	cancel()
	<-done
}

func TestOnlyTextSignedByAiboxIsAGrant(t *testing.T) {
	key, now := Key{1}, time.Unix(1_800_000_000, 0)
	g := grant{Use: inURL, Sandbox: "0dq4f-a", Port: 3000, Tenant: "alice", Token: "a", Expires: now.Unix() + 1}
	text := key.signGrant(g)
	if got, ok := key.readGrant(text, inURL, now); !ok || got != g {
		t.Fatalf("%+v, %v", got, ok)
	}
	if _, ok := key.readGrant(text, inURL, now.Add(time.Second)); ok {
		t.Error("a grant is valid when it expires")
	}
	data, _, _ := strings.Cut(text, ".")
	bare := hmac.New(sha256.New, key[:])
	bare.Write([]byte(data))
	long := g
	long.Token = strings.Repeat("a", maxGrant)
	for name, forged := range map[string]string{
		"without a signature":      data,
		"with an empty one":        data + ".",
		"with a shorter one":       text[:len(text)-2],
		"with another end":         text[:len(text)-2] + strings.Map(func(r rune) rune { return 'A' + (r-'A'+1)%20 }, text[len(text)-2:len(text)-1]) + text[len(text)-1:],
		"signed for another use":   data + "." + base64.RawURLEncoding.EncodeToString(bare.Sum(nil)),
		"longer than any of aibox": key.signGrant(long),
	} {
		if _, ok := key.readGrant(forged, inURL, now); ok {
			t.Errorf("a grant %s is valid", name)
		}
	}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%v", key), fmt.Sprintf("%#v", key)} {
		if !strings.Contains(text, "••••") || strings.ContainsAny(text, "01\x00\x01") {
			t.Errorf("the key is printed as %q", text)
		}
	}
	f := New(Options{Key: key})
	defer f.Close()
	f.now = func() time.Time { return now }
	if signed := f.Sign(Caller{}, "0dq4f-a", 3000, 2*MaxURL); signed.Expires.Sub(now) != MaxURL {
		t.Errorf("a URL is valid until %v", signed.Expires)
	}
}

func TestCookieIsOfItsHostAndForHalfADay(t *testing.T) {
	w := newWorld(t, hello)
	now := time.Now()
	w.forwarder.now = func() time.Time { return now }
	signed := w.forwarder.Sign(Caller{"alice", "a"}, "0dq4f-a", 3000, time.Minute)
	enter := func(scheme string) *http.Response {
		answer := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, scheme+"://"+signed.Host+"/?"+signed.Query, nil)
		r.URL.Scheme, r.URL.Host = "", ""
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		w.forwarder.Wrap(nil).ServeHTTP(answer, r)
		return answer.Result()
	}
	for scheme, name := range map[string]string{"http": cookieName, "https": secureCookieName} {
		answer := enter(scheme)
		cookie := answer.Cookies()[0]
		if cookie.Name != name || cookie.Secure != (scheme == "https") || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", scheme, answer.Header)
		}
		for age, want := range map[time.Duration]int{cookieLifetime - time.Minute: 200, cookieLifetime + time.Minute: 401} {
			w.forwarder.now = func() time.Time { return now.Add(age) }
			carry := "Cookie: " + cookieName + "=" + cookie.Value
			if got := w.do("GET", byHost+"/", carry, "Authorization: Bearer for-the-program"); got.StatusCode != want {
				t.Errorf("%s: after %v: %d", scheme, age, got.StatusCode)
			}
		}
		w.forwarder.now = func() time.Time { return now }
	}
	answer := httptest.NewRecorder()
	w.forwarder.enter(answer, httptest.NewRequest(http.MethodGet, "/", nil), target{path: `/\evil.example`}, grant{})
	if to := answer.Header().Get("Location"); to != "/evil.example" {
		t.Errorf("the redirect leads to %q", to)
	}
	if got := withoutGrant("a=1&%61ibox-%67rant=x"); got != "a=1" {
		t.Errorf("the query keeps %q", got)
	}
	old := w.do("GET", byPath+"/?"+signed.Query, "Accept: text/html") // of a browser that sends no such header
	if old.StatusCode != 200 || len(old.Cookies()) > 0 {
		t.Errorf("by path: %d, cookies %v", old.StatusCode, old.Cookies())
	}
	if got := w.do("GET", byHost+"/", "Authorization: Other "+aliceToken); got.StatusCode != 401 {
		t.Errorf("a token of another scheme: %d", got.StatusCode)
	}
}

func TestNavigationIsAGETOfAPage(t *testing.T) {
	const html = "text/html,*/*"
	for name, c := range map[string]struct {
		method, mode, accept, upgrade string
		want                          bool
	}{
		"a page":                {"GET", "navigate", html, "", true},
		"of an old browser":     {"GET", "", html, "", true},
		"a program":             {"GET", "", "*/*", "", false},
		"a fetch of a page":     {"GET", "cors", html, "", false},
		"a form":                {"POST", "navigate", html, "", false},
		"a WebSocket":           {"GET", "", html, "websocket", false},
		"a preflight of a page": {"OPTIONS", "", html, "", false},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Sec-Fetch-Mode", c.mode)
		r.Header.Set("Upgrade", c.upgrade)
		if isNavigation(r) != c.want {
			t.Errorf("%s is a navigation: %v", name, !c.want)
		}
	}
}

func TestProgramsMayUseThePathAsTheAPIAllows(t *testing.T) {
	w := newWorld(t, hello)
	for _, destination := range []string{"empty", "websocket"} {
		if got := w.do("GET", byPath+"/", bearer, "Sec-Fetch-Dest: "+destination); got.StatusCode != 200 {
			t.Errorf("%s: %d", destination, got.StatusCode)
		}
	}
	w.forwarder.options.Check = func(r *http.Request) error {
		if r.Header.Get("Origin") != "http://ours.example" {
			return fault.New(fault.Refused, "another origin")
		}
		return nil
	}
	for origin, want := range map[string]int{"http://ours.example": 200, "": 403} {
		if got := w.do("GET", byPath+"/", bearer, "Origin: "+origin); got.StatusCode != want {
			t.Errorf("the origin %q: %d", origin, got.StatusCode)
		}
		if got := w.last().Header.Get("Origin"); got != "" {
			t.Errorf("the sandbox sees the origin %q", got)
		}
	}
}
