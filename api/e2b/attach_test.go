package e2b

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/api/server"
	"aibox/api/store"
	"aibox/session"
)

// attached serves a server of this package behind the guard of the real API server, as `aibox
// serve` does.
func attached(t *testing.T, limits server.Limits) (*fakeAPI, *httptest.Server) {
	t.Helper()
	fake, s, _ := serve(t)
	api, err := server.New(server.Options{Hosts: []string{"127.0.0.1", "boxes.test"}, Limits: limits, Tokens: fake, Record: func(c server.Call) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		fake.recorded = append(fake.recorded, c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	s.Attach(api)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, listener, nil, time.Second) }()
	t.Cleanup(func() {
		cancel()
		<-ended //nolint:errcheck // the test ends
	})
	return fake, &httptest.Server{URL: "http://" + listener.Addr().String(), Listener: listener}
}

// insideHost returns the headers of a request to the host name for the inside of a sandbox.
func insideHost(a accessJSON, more ...string) []string {
	return append([]string{"Host", "49983-" + a.SandboxID + ".boxes.test", "X-Access-Token", a.AccessToken}, more...)
}

func TestAnUploadOfAnySizePassesTheGuardOfTheServer(t *testing.T) {
	fake, front := attached(t, server.Limits{})
	a := create(t, front, "token-a")
	large := bytes.Repeat([]byte("0123456789abcdef"), 24<<20/16)
	for path, headers := range map[string][]string{
		"/e2b/files?path=/below": inside(a),
		"/files?path=/root":      inside(a),
		"/files?path=/host":      insideHost(a),
	} {
		status, body, _ := exchange(t, front, "POST", path, bytes.NewReader(large), append(headers, "Content-Type", octetStream)...)
		_, name, _ := strings.Cut(path, "=")
		if status != http.StatusOK || sha256.Sum256(fake.files.content[name]) != sha256.Sum256(large) {
			t.Errorf("%s: %d %s, and %d bytes", path, status, body, len(fake.files.content[name]))
		}
	}
	status, body := call(t, front, "POST", "/e2b/v2/sandboxes", strings.Repeat(" ", 9<<20)+"{}", "X-API-KEY", "token-a")
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of the control plane: %d %s", status, body)
	}
	message := `{"input": {"stdin": "` + strings.Repeat("A", 9<<20) + `"}}`
	if _, body = call(t, front, "POST", "/e2b/process.Process/SendInput", message, append(inside(a), "Content-Type", "application/json")...); !strings.Contains(body, "resource_exhausted") {
		t.Errorf("a message: %s", body)
	}
}

func TestNoWebPageCanCallTheHostOfASandbox(t *testing.T) {
	fake, front := attached(t, server.Limits{})
	a := create(t, front, "token-a")
	fake.files.content["/f"] = []byte("content")
	for name, header := range map[string][]string{
		"another origin":        {"Origin", "https://evil.example"},
		"its own origin":        {"Origin", "http://49983-" + a.SandboxID + ".boxes.test"},
		"no origin":             {"Origin", "null"},
		"a page's request":      {"Sec-Fetch-Site", "cross-site"},
		"the page of a sandbox": {"Sec-Fetch-Site", "same-site"},
	} {
		for _, request := range []string{"GET /files?path=/f", "POST /files?path=/g", "POST /process.Process/List", "GET /health"} {
			method, path, _ := strings.Cut(request, " ")
			status, body := call(t, front, method, path, "{}", insideHost(a, append(header, "Content-Type", octetStream)...)...)
			if status != http.StatusForbidden {
				t.Errorf("%s, %s: %d %s", name, request, status, body)
			}
		}
	}
	if _, ok := fake.files.content["/g"]; ok {
		t.Error("a file was written")
	}
	status, body, header := exchange(t, front, "GET", "/files?path=/f", nil, insideHost(a)...)
	if status != http.StatusOK || body != "content" || header.Get("Aibox-Request-Id") == "" {
		t.Errorf("a program: %d %s %v", status, body, header)
	}
}

func TestAPageCanUseASignedURLOfAFileAndNothingElse(t *testing.T) {
	fake, front := attached(t, server.Limits{})
	a := create(t, front, "token-a")
	fake.files.content["/f"] = []byte("content")
	page := []string{"Origin", "https://shop.example", "Sec-Fetch-Site", "cross-site", "Content-Type", octetStream}
	host := []string{"Host", "49983-" + a.SandboxID + ".boxes.test"}
	get := "?path=/f&signature=" + signature("/f", "read", "", a.AccessToken, "")
	post := "?path=/g&signature=" + signature("/g", "write", "", a.AccessToken, "")
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
	}{
		"a download":                {"GET", "/files" + get, "", page, http.StatusOK},
		"below the root":            {"GET", "/e2b/files" + get, "", page, http.StatusOK},
		"on the host":               {"GET", "/files" + get, "", append(host, page...), http.StatusOK},
		"an upload":                 {"POST", "/files" + post, "new", page, http.StatusOK},
		"what precedes an upload":   {"OPTIONS", "/files" + post, "", page, http.StatusNoContent},
		"without a signature":       {"GET", "/files?path=/f", "", append(inside(a), page...), http.StatusForbidden},
		"a signature and a token":   {"GET", "/files" + get, "", append(inside(a), page...), http.StatusForbidden},
		"a signature for a read":    {"POST", "/files" + get, "new", page, http.StatusUnauthorized},
		"another path":              {"GET", "/health" + get, "", append(host, page...), http.StatusForbidden},
		"the control plane":         {"GET", "/e2b/sandboxes" + get, "", append(page, "X-API-KEY", "token-a"), http.StatusForbidden},
		"a host that names nothing": {"GET", "/files" + get, "", append(page, "Host", "evil.example"), http.StatusForbidden},
	} {
		status, body, header := exchange(t, front, c.method, c.path, strings.NewReader(c.body), c.headers...)
		if status != c.status || (header.Get("Access-Control-Allow-Origin") == "*") != (status < 300 || status == http.StatusUnauthorized) {
			t.Errorf("%s: %d %s %v", name, status, body, header)
		}
	}
	if got := string(fake.files.content["/g"]); got != "new" || string(fake.files.content["/f"]) != "content" {
		t.Errorf("the files are %q", fake.files.content)
	}
}

func TestRefusedCredentialsAreRecorded(t *testing.T) {
	fake, front := attached(t, server.Limits{})
	a := create(t, front, "token-a")
	named := []string{"E2b-Sandbox-Id", a.SandboxID}
	for _, c := range []struct {
		method, path    string
		headers         []string
		recorded, about string
	}{
		{"GET", "/e2b/sandboxes", nil, "GET /e2b/sandboxes", ""},
		{"GET", "/e2b/sandboxes/" + a.SandboxID, []string{"X-API-KEY", "a b"}, "GET /e2b/sandboxes/" + a.SandboxID, a.SandboxID},
		{"GET", "/files?path=/secret", append(named, "X-Access-Token", "x"), "GET /files", a.SandboxID},
		{"GET", "/files?path=/secret&signature=v1_x", named, "GET /files", a.SandboxID},
		{"GET", "/x", []string{"Host", "3000-" + a.SandboxID + ".boxes.test", trafficHeader, "x"}, "GET port 3000", a.SandboxID},
	} {
		fake.mu.Lock()
		fake.recorded = nil
		fake.mu.Unlock()
		status, body := call(t, front, c.method, c.path, "", c.headers...)
		fake.mu.Lock()
		calls := fake.recorded
		fake.mu.Unlock()
		if status < 401 || status > 403 || len(calls) != 1 || calls[0].Method != c.recorded || calls[0].Subject != c.about || calls[0].Kind != "refused" || calls[0].Request == "" {
			t.Errorf("%s %s: %d %s, and the record is %+v", c.method, c.path, status, body, calls)
		}
	}
}

func TestTheHostOfASandboxHasNoControlPlane(t *testing.T) {
	fake, front := attached(t, server.Limits{})
	a := create(t, front, "token-a")
	for _, request := range []string{
		"POST /sandboxes", "POST /v2/sandboxes", "GET /v2/sandboxes", "GET /sandboxes/" + a.SandboxID, "DELETE /sandboxes/" + a.SandboxID, "POST /sandboxes/" + a.SandboxID + "/pause",
		"GET /snapshots", "GET /volumes", "POST /e2b/sandboxes", "GET /v1/sandboxes", "POST /aibox.v1.Sandboxes/List", "GET /openapi.yaml",
	} {
		method, path, _ := strings.Cut(request, " ")
		status, body := call(t, front, method, path, "{}", insideHost(a, "X-API-KEY", "token-a", "Authorization", "Bearer token-a")...)
		if status != http.StatusNotFound {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
	if len(fake.created) != 1 || len(fake.sandboxes) != 1 {
		t.Errorf("sandboxes were created: %v", fake.created)
	}
	for _, host := range []string{"49983-" + a.SandboxID + ".evil.test", a.SandboxID + ".boxes.test", "49983-" + a.SandboxID + ".boxes.test.evil.test"} {
		if status, body := call(t, front, "GET", "/health", "", "Host", host, "X-Access-Token", a.AccessToken); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

func TestAReaderOfASandboxesHostThatStallsIsCutOff(t *testing.T) {
	fake, front := attached(t, server.Limits{Stall: time.Second})
	a := create(t, front, "token-a")
	fake.files.content["/large"] = make([]byte, 64<<20) // more than all buffers on the way
	fake.files.ended = make(chan error, 1)
	for _, host := range []string{"127.0.0.1", "49983-" + a.SandboxID + ".boxes.test"} {
		conn, err := net.Dial("tcp", front.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /files?path=/large HTTP/1.1\r\nHost: %s\r\nE2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n\r\n", host, a.SandboxID, a.AccessToken)
		select {
		case <-fake.files.ended: //nolint:errcheck // that it ended counts
			if n, err := io.Copy(io.Discard, conn); n >= 64<<20 {
				t.Errorf("%s: %d bytes arrived, %v", host, n, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the server waits for a reader that has stalled", host)
		}
		conn.Close()
	}
}

// Authenticate implements server.Tokens.
func (f *fakeAPI) Authenticate(_ context.Context, token string) (auth.Caller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fakeTokens[token] == "" || f.revoked[token] {
		return auth.Caller{}, store.ErrUnauthenticated
	}
	return auth.Caller{Tenant: session.Tenant(fakeTokens[token]), Token: token}, nil
}

// Caller implements server.Tokens.
func (f *fakeAPI) Caller(ctx context.Context, id string) (auth.Caller, error) {
	return f.Authenticate(ctx, id)
}

// begin sends the beginning of a request, whose body does not come. It is so long that the server does
// not wait for the rest before it answers.
func begin(t *testing.T, front *httptest.Server, request string, headers ...string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	text := request + " HTTP/1.1\r\nContent-Length: 1000000\r\n"
	for i := 0; i < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Otherwise everyone could fill the memory of the server with bodies.
func TestNoBodyIsReadWithoutAValidToken(t *testing.T) {
	fake, front := attached(t, server.Limits{Stall: time.Hour})
	a := create(t, front, "token-a")
	fake.mu.Lock()
	fake.revoked["token-a"] = true
	fake.mu.Unlock()
	for name, conn := range map[string]net.Conn{
		"a wrong token":          begin(t, front, "POST /e2b/sandboxes", "Host", "127.0.0.1", "X-API-KEY", "wrong"),
		"a revoked token":        begin(t, front, "POST /e2b/volumes", "Host", "127.0.0.1", "X-API-KEY", "token-a"),
		"a revoked token inside": begin(t, front, "POST /e2b/files?path=/f", append(inside(a), "Host", "127.0.0.1", "Content-Type", octetStream)...),
		"the host of a sandbox":  begin(t, front, "POST /process.Process/List", insideHost(a, "Content-Type", "application/json")...),
	} {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
}

func TestRequestsOfATenantAreLimitedWhileTheyMakeNoCall(t *testing.T) {
	_, front := attached(t, server.Limits{Stall: time.Hour, TenantCalls: 1})
	first := begin(t, front, "POST /e2b/sandboxes", "Host", "127.0.0.1", "X-API-KEY", "token-a", "Expect", "100-continue")
	_ = first.SetReadDeadline(time.Now().Add(time.Minute))
	reads, err := bufio.NewReader(first).ReadString('\n') // once it has admitted the request
	if err != nil || !strings.Contains(reads, "100 Continue") {
		t.Fatalf("%q, %v", reads, err)
	}
	status, body := call(t, front, "GET", "/e2b/v2/sandboxes", "", "X-API-KEY", "token-a")
	if status != http.StatusTooManyRequests || !strings.Contains(body, "calls at once") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := call(t, front, "GET", "/e2b/v2/sandboxes", "", "X-API-KEY", "token-b"); status != http.StatusOK {
		t.Errorf("another tenant: %d %s", status, body)
	}
}

func TestMessagesOfThePackagesTakeFromTheBudgetOfTheTenant(t *testing.T) {
	const most, large = 128 << 10, 256 << 10
	_, front := attached(t, server.Limits{TenantMessages: most})
	a := create(t, front, "token-a")
	text := strings.Repeat("A", large)
	var packed bytes.Buffer
	in := gzip.NewWriter(&packed)
	_, _ = io.WriteString(in, `{"process":{"pid":1},"input":{"stdin":"`+text+`"}}`)
	_ = in.Close()
	for name, c := range map[string]struct {
		path, body string
		headers    []string
	}{
		"the control plane":    {"/e2b/volumes", `{"name":"` + text + `"}`, []string{"X-API-KEY", "token-a"}},
		"a message":            {"/e2b/process.Process/SendInput", `{"process":{"pid":1},"input":{"stdin":"` + text + `"}}`, inside(a)},
		"a compressed message": {"/e2b/process.Process/SendInput", packed.String(), append(inside(a), "Content-Encoding", "gzip")},
	} {
		status, body := call(t, front, "POST", c.path, c.body, append(c.headers, "Content-Type", "application/json")...)
		if status != http.StatusTooManyRequests || !strings.Contains(body, "the messages that the tenant receives at once") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	status, body, _ := exchange(t, front, "POST", "/e2b/files?path=/f", strings.NewReader(text), append(inside(a), "Content-Type", octetStream)...)
	if status != http.StatusOK {
		t.Errorf("a file, which is never in memory as a whole: %d %s", status, body)
	}
}

func TestAListOfADirectoryTakesFromTheBudgetOfTheTenant(t *testing.T) {
	for most, want := range map[int64]int{64 << 10: http.StatusTooManyRequests, 64 << 20: http.StatusOK} {
		fake, front := attached(t, server.Limits{TenantAnswers: most})
		a := create(t, front, "token-a")
		fake.files.pages = 4
		status, body := call(t, front, "POST", "/e2b/filesystem.Filesystem/ListDir", `{"path":"/","depth":1}`, append(inside(a), "Content-Type", "application/json")...)
		if status != want || want != http.StatusOK && !strings.Contains(body, "smaller depth") {
			t.Errorf("with %d bytes: %d %.300s", most, status, body)
		}
	}
}
