package forward

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// Each request tries to reach something other than the caller's own port.
func TestNothingButPortsOfTheSandboxIsReached(t *testing.T) {
	w := newWorld(t, hello)
	auth := "\r\n" + bearer + "\r\nConnection: close\r\n\r\n"
	for name, request := range map[string]string{
		"CONNECT":                         "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22" + auth,
		"CONNECT to a port's name":        "CONNECT 3000-0dq4f-a.localhost:80 HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost" + auth,
		"an absolute address":             "GET http://127.0.0.1:22/v1/sandboxes/0dq4f-a/ports/3000/ HTTP/1.1\r\nHost: 127.0.0.1" + auth,
		"an absolute address by host":     "GET http://3000-0dq4f-a.localhost/x HTTP/1.1\r\nHost: 127.0.0.1" + auth,
		"dots over the prefix":            "GET /v1/sandboxes/0dq4f-a/ports/3000/../../../0dq4f-c/ports/3000/ HTTP/1.1\r\nHost: x" + auth,
		"escaped dots":                    "GET /v1/sandboxes/0dq4f-a/ports/3000/%2e%2E/%2e%2e/ HTTP/1.1\r\nHost: x" + auth,
		"dots between escaped slashes":    "GET /v1/sandboxes/0dq4f-a/ports/3000/a%2f..%2fb HTTP/1.1\r\nHost: x" + auth,
		"dots with a backslash":           "GET /v1/sandboxes/0dq4f-a/ports/3000/..%5c..%5cx HTTP/1.1\r\nHost: x" + auth,
		"an address for an id":            "GET /v1/sandboxes/127.0.0.1/ports/22/ HTTP/1.1\r\nHost: x" + auth,
		"an address with an at":           "GET /v1/sandboxes/a@127.0.0.1/ports/22/ HTTP/1.1\r\nHost: x" + auth,
		"an escaped id":                   "GET /v1/sandboxes/0dq4f%2da/ports/3000/ HTTP/1.1\r\nHost: x" + auth,
		"a port of the host":              "GET /v1/sandboxes/0dq4f-a/ports/65536/ HTTP/1.1\r\nHost: x" + auth,
		"port 0":                          "GET /v1/sandboxes/0dq4f-a/ports/0/ HTTP/1.1\r\nHost: x" + auth,
		"a port with zeros before":        "GET /v1/sandboxes/0dq4f-a/ports/003000/ HTTP/1.1\r\nHost: x" + auth,
		"a host name with an address":     "GET / HTTP/1.1\r\nHost: 22-127.0.0.1.localhost" + auth,
		"a host name with a wrong port":   "GET / HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost:x@127.0.0.1" + auth,
		"a host name with a path":         "GET / HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost/../x" + auth,
		"two host names":                  "GET / HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost\r\nHost: 127.0.0.1" + auth,
		"a path without a slash, by host": "GET x HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost" + auth,
	} {
		answer := w.raw(request)
		if sandboxes, _ := w.reached(); sandboxes > 0 {
			t.Fatalf("%s: the sandbox got %s", name, w.last().RequestURI)
		}
		if !strings.HasPrefix(answer, "HTTP/1.1 4") {
			t.Errorf("%s: %s", name, answer)
		}
	}
	if _, api := w.reached(); w.dials > 0 || api > 0 {
		t.Errorf("%d connections to sandboxes were made, and the API got %q", w.dials, w.api)
	}
}

// The server would not check a second request that is hidden in the body of the first.
func TestSmuggledRequestDoesNotReachTheSandbox(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		hello(out, r)
	})
	inner := "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
	start := "POST /v1/sandboxes/0dq4f-a/ports/3000/first HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer + "\r\n"
	for name, rest := range map[string]string{
		"length and chunks":         fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(inner)+5, inner),
		"chunks and length":         "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + inner,
		"two lengths":               fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner),
		"a list of lengths":         fmt.Sprintf("Content-Length: 0, %d\r\n\r\n%s", len(inner), inner),
		"a signed length":           "Content-Length: +0\r\n\r\n" + inner,
		"an unknown encoding":       "Transfer-Encoding: xchunked\r\n\r\n" + inner,
		"two encodings":             "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
		"a space before the colon":  "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n" + inner,
		"a folded header":           "X: 1\r\n Content-Length: 5\r\nContent-Length: 0\r\n\r\n" + inner,
		"a bare line feed in chunk": "Transfer-Encoding: chunked\r\n\r\n1\nZ\n0\n\n" + inner,
		"a body of a GET":           "Content-Length: 0\r\n\r\n" + inner,
	} {
		w.raw(start + rest)
		w.mu.Lock()
		for _, r := range w.seen {
			if strings.Contains(r.RequestURI, "smuggled") {
				t.Errorf("%s: the sandbox got %s", name, r.RequestURI)
			}
			if len(r.TransferEncoding) > 0 && r.Header.Get("Content-Length") != "" {
				t.Errorf("%s: the sandbox got two lengths", name)
			}
		}
		w.seen = nil
		w.mu.Unlock()
	}
	// By host name, a smuggled request would take the place of the browser's next one.
	w.raw("POST / HTTP/1.1\r\nHost: 3000-0dq4f-a.localhost\r\n" + bearer + "\r\nContent-Length: 0\r\n\r\n" + inner)
	for _, path := range w.api {
		if path != "/smuggled" { // a separate request, which the API checks
			t.Errorf("the API got %s", path)
		}
	}
}

func TestSandboxSeesNoCredentialOfAibox(t *testing.T) {
	w := newWorld(t, hello)
	key := w.forwarder.options.Key
	cookie := key.signGrant(cookieGrant("0dq4f-a", 3000))
	grant := cookieGrant("0dq4f-a", 3000)
	grant.Use = inURL
	signed := key.signGrant(grant)
	for _, c := range []struct {
		target  string
		headers []string
	}{
		{byPath + "/", []string{bearer, "X-Api-Key: " + aliceToken, "Cookie: a=b; aibox-port=" + cookie, "X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1"}},
		{byPath + "/", []string{"Aibox-Token: " + aliceToken, "Authorization: Bearer for-the-program", "Proxy-Authorization: Basic x", "Connection: X-Secret", "X-Secret: 1", "Referer: http://127.0.0.1/x"}},
		{byHost + "/", []string{"Cookie: AIBOX-PORT=" + cookie + "; aibox-port=" + cookie + "; __Host-aibox-port=" + cookie}},
		{byHost + "/?%61ibox-grant=" + signed, nil},
		{byHost + "/?aibox-grant=" + signed + "&aibox%2dgrant=x", []string{"X-Also: " + bobToken}},
	} {
		if got := w.do("GET", c.target, c.headers...); got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", c.target, got.StatusCode, got.text)
		}
		r := w.last()
		text := fmt.Sprint(r.RequestURI, r.Host, r.Header)
		if strings.HasPrefix(c.target, byPath) && r.Header.Get("Cookie") != "" {
			t.Errorf("%s: the sandbox sees the cookies of the API's origin", c.target)
		}
		for _, secret := range []string{"aibox_", cookie, signed, "10.0.0.1", "X-Secret", "Proxy-Auth", "127.0.0.1"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the sandbox sees %s in %s", c.target, secret, text)
			}
		}
	}
	w.do("GET", byPath+"/", "Aibox-Token: "+aliceToken, "Authorization: Bearer for-the-program")
	if got := w.last().Header.Get("Authorization"); got != "Bearer for-the-program" {
		t.Errorf("the program's own credential is %q", got)
	}
}

func TestSandboxCannotReachBeyondItsOrigin(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		h := out.Header()
		for _, cookie := range []string{
			"aibox-port=x", " __host-AIBOX-port =x", "=aibox-port=x", "aibox-port", "app=1; Path=/; Domain=localhost; HttpOnly", "wide=1;domain=.localhost", "fine=1",
		} {
			h.Add("Set-Cookie", cookie)
		}
		for _, name := range append(append([]string{}, dropped...), droppedByPath[:7]...) {
			h.Set(name, "x")
		}
		h.Set("Service-Worker-Allowed", "/")
		h.Set("Content-Security-Policy", "default-src *")
		out.WriteHeader(http.StatusEarlyHints)
		hello(out, r)
	})
	hints := 0
	w.trace = &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil }}
	host := w.do("GET", byHost+"/", bearer)
	if hints > 0 {
		t.Error("headers of an informational answer passed unseen")
	}
	if got := strings.Join(host.Header["Set-Cookie"], "|"); got != "app=1; Path=/; HttpOnly|wide=1|fine=1" {
		t.Errorf("by host name it sets the cookies %q", got)
	}
	path := w.do("GET", byPath+"/", bearer)
	for _, name := range append(append([]string{}, dropped...), "Set-Cookie", "Service-Worker-Allowed", "Access-Control-Allow-Origin", "Link") {
		if path.Header.Get(name) != "" {
			t.Errorf("by path it sets %s", name)
		}
		if name != "Set-Cookie" && name != "Service-Worker-Allowed" && strings.Contains(strings.Join(dropped, " "), name) && host.Header.Get(name) != "" {
			t.Errorf("by host name it sets %s", name)
		}
	}
	if got := path.Header.Values("Content-Security-Policy"); len(got) != 2 || got[1] != "sandbox" {
		t.Errorf("by path the policy is %q", got)
	}
	if got := path.Header.Get("Cross-Origin-Resource-Policy"); got != "same-origin" {
		t.Errorf("by path, pages of the origins %q may load it", got)
	}
	if got := host.Header.Get("Origin-Agent-Cluster"); got != "?1" {
		t.Errorf("by host name, the origin's agent cluster is %q", got)
	}
}

// Such a proxy would answer with its own files, or with another answer of the server.
func TestSandboxCannotDirectAProxyInFrontOfTheServer(t *testing.T) {
	names := []string{"x-accel-redirect", "X-Accel-Expires", "X-Sendfile", "X-SENDFILE2", "X-LIGHTTPD-send-file", "X-LiteSpeed-Location"}
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			out.Header()[name] = []string{"/x"} // as it is written here
		}
		out.Header().Set("X-Accel-Buffering", "no")
		hello(out, r)
	})
	for _, at := range []string{byHost, byPath} {
		answer := w.do("GET", at+"/", bearer)
		for _, name := range names {
			if answer.Header.Get(name) != "" {
				t.Errorf("%s sets %s", at, name)
			}
		}
		if answer.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s cannot keep a proxy from holding back a stream", at)
		}
	}
}

func TestPagesOfOtherOriginsCannotUseThePort(t *testing.T) {
	w := newWorld(t, hello)
	cookie := "Cookie: aibox-port=" + w.forwarder.options.Key.signGrant(cookieGrant("0dq4f-a", 3000))
	for name, headers := range map[string][]string{
		"a request of another sandbox's page": {"Origin: http://3000-0dq4f-b.localhost", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"},
		"an image":                            {"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"},
		"a frame":                             {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"},
		"a page without an origin":            {"Origin: null"},
		"another port of the name":            {"Origin: http://3000-0dq4f-a.localhost:1234"},
	} {
		for _, method := range []string{"GET", "POST"} {
			if got := w.do(method, byHost+"/", append(headers, cookie)...); got.StatusCode != 403 {
				t.Errorf("%s, %s: %d", name, method, got.StatusCode)
			}
		}
	}
	if got := w.do("POST", byHost+"/", cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"); got.StatusCode != 403 {
		t.Errorf("a form: %d", got.StatusCode)
	}
	conn, _, response := w.upgrade("/", "3000-0dq4f-a.localhost", cookie, "Origin: http://3000-0dq4f-b.localhost")
	conn.Close()
	if response.StatusCode != 403 {
		t.Errorf("a WebSocket of another sandbox's page: %s", response.Status)
	}
	for name, headers := range map[string][]string{
		"its own page": {"Origin: http://3000-0dq4f-a.localhost", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"},
		"a link":       {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		"the user":     {"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
	} {
		if got := w.do("GET", byHost+"/", append(headers, cookie)...); got.StatusCode != 200 {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
}

func TestBrowserDoesNotGetPagesByPath(t *testing.T) {
	w := newWorld(t, hello)
	for _, header := range []string{"Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe", "Sec-Fetch-Dest: script", "Service-Worker: script", "Origin: http://evil.example"} {
		if got := w.do("GET", byPath+"/", bearer, header); got.StatusCode != 403 {
			t.Errorf("%s: %d", header, got.StatusCode)
		}
	}
}

// A page of a sandbox has its own origin, on which no path reaches the API.
func TestOriginOfASandboxNeverReachesTheAPI(t *testing.T) {
	w := newWorld(t, hello)
	for _, host := range []string{"3000-0dq4f-a.localhost", "3000-.localhost", "0-0dq4f-a.localhost", "99999-0dq4f-a.localhost", "3000-0dq4f-a.localhost.", "3000-A_B.localhost"} {
		for _, path := range []string{"/v1/sandboxes", "/", "/mcp"} {
			w.raw("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
		}
	}
	if sandboxes, api := w.reached(); sandboxes+api > 0 {
		t.Errorf("%d requests reached a sandbox, and %d the API: %q", sandboxes, api, w.api)
	}
}

// A program that follows redirects would send its token, too.
func TestRedirectStaysAtThePort(t *testing.T) {
	location := ""
	w := newWorld(t, func(out http.ResponseWriter, _ *http.Request) {
		out.Header()["Location"] = []string{location}
		out.WriteHeader(http.StatusTemporaryRedirect)
	})
	const prefix = "/v1/sandboxes/0dq4f-a/ports/3000"
	for from, want := range map[string]string{
		"/login?x=1#y":                  prefix + "/login?x=1#y",
		"http://localhost:3000/a%2Fb":   prefix + "/a%2Fb",
		"http://127.0.0.1:3000/":        prefix + "/",
		"next":                          prefix + "/next",
		"?page=2":                       "?page=2",
		"http://evil.example/":          "",
		"//evil.example/":               "",
		`/\evil.example/`:               "",
		"http://localhost:3000//evil/":  "",
		"http://localhost:3001/":        "",
		"ftp://localhost:3000/":         "",
		"http:evil":                     "",
		"javascript:alert(1)":           "",
		"../../../../v1/sandboxes":      "",
		"/../../v1/sandboxes":           "",
		"/%2e%2e/x":                     "",
		"http://3000-0dq4f-a.localhost": "",
	} {
		location = from
		got := w.do("GET", byPath+"/", bearer)
		if want == "" && (got.StatusCode != 502 || got.Header.Get("Location") != "") || want != "" && got.Header.Get("Location") != want {
			t.Errorf("%q: %d, Location %q, want %q", from, got.StatusCode, got.Header.Get("Location"), want)
		}
	}
	location = "next" // of the path / that the sandbox gets
	if got := w.do("GET", byPath, bearer); got.Header.Get("Location") != prefix+"/next" {
		t.Errorf("without a slash: Location %q", got.Header.Get("Location"))
	}
	if got := w.do("GET", byPath+"/a/b", bearer); got.Header.Get("Location") != prefix+"/a/next" {
		t.Errorf("below a folder: Location %q", got.Header.Get("Location"))
	}
	location = "http://other.example/login"
	if got := w.do("GET", byHost+"/", bearer); got.StatusCode != 502 || got.Header.Get("Location") != "" {
		t.Errorf("a token by host name is sent to %q", got.Header.Get("Location"))
	}
	cookie := "Cookie: aibox-port=" + w.forwarder.options.Key.signGrant(cookieGrant("0dq4f-a", 3000))
	if got := w.do("GET", byHost+"/", cookie); got.Header.Get("Location") != location {
		t.Errorf("a browser is not sent to %s but %q", location, got.Header.Get("Location"))
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("127.0.0.1", "/v1/sandboxes/0dq4f-a/ports/3000/x")
	f.Add("3000-0dq4f-a.localhost:80", "/../x")
	f.Fuzz(func(t *testing.T, host, path string) {
		request, err := http.NewRequest(http.MethodGet, "http://x/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host, request.URL.Path, request.URL.Host, request.URL.Scheme = host, path, "", ""
		found, mine, err := New(Options{}).target(request)
		if !mine || err != nil {
			return
		}
		if !isID(found.sandbox) || found.port == 0 || !strings.HasPrefix(found.path, "/") || strings.ContainsAny(found.host, "/@\\ ") {
			t.Errorf("%+v", found)
		}
		if !found.byHost() && hasDotSegment(found.path) {
			t.Errorf("%+v leaves the port", found)
		}
	})
}

func FuzzGrant(f *testing.F) {
	key := Key{7}
	f.Add(key.signGrant(cookieGrant("0dq4f-a", 3000)))
	f.Fuzz(func(t *testing.T, text string) {
		if g, ok := key.readGrant(text, inCookie, time.Now()); ok {
			if !strings.HasPrefix(text, strings.Split(key.signGrant(g), ".")[0]+".") {
				t.Errorf("%q is read as %+v", text, g)
			}
			if _, ok := key.readGrant(text, inURL, time.Now()); ok {
				t.Errorf("%q is valid for two uses", text)
			}
			if _, ok := key.readGrant(text, inCookie, time.Unix(g.Expires, 0)); ok {
				t.Errorf("%q is valid after its end", text)
			}
		}
		if _, ok := (Key{8}).readGrant(text, inCookie, time.Now()); ok {
			t.Errorf("%q is valid with another key", text)
		}
	})
}
