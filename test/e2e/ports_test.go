package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// echoServer is a server of echoHandler.
const echoServer = echoHandler + `
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Handler).serve_forever()`

// echoHandler answers a request with what it has got, sets cookies, and echoes the messages of
// a WebSocket.
const echoHandler = `
import base64, hashlib, http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self):
        if self.headers["Upgrade"] == "websocket": return self.echo()
        body = json.dumps({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200)
        for cookie in ("own=1; Path=/", "wide=1; Domain=localhost", "aibox-port=forged"): self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def echo(self):
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.send_response(101)
        for header in ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: " + base64.b64encode(accept).decode()): self.send_header(*header.split(": "))
        self.end_headers()
        self.close_connection = True
        while len(head := self.rfile.read(6)) == 6:
            text = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([head[0], len(text)]) + text)`

// seen is what the server in the sandbox has got.
type seen struct {
	Path    string
	Headers map[string]string
}

// ports uses a server in the sandbox by path, by host name, with the cookie of a signed URL
// and over WebSockets, and attacks the forwarding.
func (s *apiServer) ports(id string) {
	t := s.m.t
	t.Helper()
	argv, err := json.Marshal(map[string]any{"argv": []string{"python3", "-c", echoServer}})
	if err != nil {
		t.Fatal(err)
	}
	if body, status := s.curl("-d", string(argv), s.url+"/v1/sandboxes/"+id+"/processes"); status != "200" {
		t.Fatal(status, body)
	}
	path := "/v1/sandboxes/" + id + "/ports/3000/"
	eventually(t, hung, "the server in the sandbox listens", func() bool {
		_, status := s.curl(s.url + path)
		return status == "200"
	})
	body, _ := s.curl("-H", "Cookie: a=b", s.url+path+"x%2Fy?q=1")
	var got seen
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Path != "/x%2Fy?q=1" || got.Headers["host"] != "localhost:3000" || got.Headers["cookie"] != "" {
		t.Errorf("by path: %s %v", body, err)
	}
	s.portInABrowser(id)
	s.portWebSockets(id)
	s.portAttacks(id)
}

// browser is a client that resolves every name to the server, as a browser does for names
// below localhost, and keeps cookies.
func (s *apiServer) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.m.t.Fatal(err)
	}
	server := strings.TrimPrefix(s.url, "http://")
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{DialContext: dial}, Timeout: hung}
}

// page requests a page as a browser does that a user opens it with.
func page(client *http.Client, address string, headers ...string) (status int, body string, err error) {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

// portInABrowser opens a signed URL, and uses its cookie.
func (s *apiServer) portInABrowser(id string) {
	t := s.m.t
	t.Helper()
	body, _ := s.curl("-d", `{"ttl":"60s"}`, s.url+"/v1/sandboxes/"+id+"/ports/3000:sign")
	var signed struct{ URL string }
	if err := json.Unmarshal([]byte(body), &signed); err != nil {
		t.Fatal(body, err)
	}
	at, err := url.Parse(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://" + at.Host
	client := s.browser()
	navigation := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Accept", "text/html"}
	status, body, err := page(client, signed.URL, navigation...)
	var got seen
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &got) != nil || got.Path != "/" || got.Headers["host"] != at.Host {
		t.Fatalf("the signed URL: %d %s %v", status, body, err)
	}
	if status, body, err = page(client, origin+"/next", "Sec-Fetch-Site", "same-origin"); err != nil || status != http.StatusOK {
		t.Errorf("with the cookie: %d %s %v", status, body, err)
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Headers["cookie"] != "own=1; wide=1" {
		t.Errorf("the server's own cookies come back as %q", got.Headers["cookie"])
	}
	neighbor := "http://3001-" + id + ".localhost:" + at.Port()
	for _, cookie := range client.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(neighbor, "http://"), Path: "/"}) {
		t.Errorf("another port gets the cookie %s", cookie.Name)
	}
	for what, headers := range map[string][]string{
		"a page of another sandbox":         {"Origin", neighbor, "Sec-Fetch-Site", "same-site"},
		"a page of another site":            {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		"an image in a page elsewhere":      {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		"a frame in a page of another site": {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
	} {
		if status, _, err := page(client, origin+"/", headers...); err != nil || status != http.StatusForbidden {
			t.Errorf("%s: %d %v", what, status, err)
		}
	}
	if status, _, err := page(s.browser(), origin+"/"); err != nil || status != http.StatusUnauthorized {
		t.Errorf("without the cookie: %d %v", status, err)
	}
	s.echoes("ws://"+at.Host+"/", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Origin": {origin}}}, true)
	for _, foreign := range []string{neighbor, "http://evil.example", "null"} {
		s.echoes("ws://"+at.Host+"/", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Origin": {foreign}}}, false)
	}
}

// portWebSockets uses WebSockets with the token.
func (s *apiServer) portWebSockets(id string) {
	byPath := strings.Replace(s.url, "http", "ws", 1) + "/v1/sandboxes/" + id + "/ports/3000/"
	token := func(headers ...string) *websocket.DialOptions {
		header := http.Header{"Authorization": {"Bearer " + s.token}}
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		return &websocket.DialOptions{HTTPClient: s.browser(), HTTPHeader: header}
	}
	s.m.t.Helper()
	s.echoes(byPath, token(), true)
	s.echoes("ws://3000-"+id+".localhost/", token(), true)
	s.echoes(byPath, token("Origin", "http://evil.example"), false)
	s.echoes(byPath, token("Authorization", "Bearer aibox_"+strings.Repeat("x", 43)), false)
	s.echoes(byPath, &websocket.DialOptions{}, false)
}

// echoes checks whether a WebSocket echoes a message.
func (s *apiServer) echoes(address string, options *websocket.DialOptions, want bool) {
	t := s.m.t
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, address, options)
	if !want {
		if err == nil || response == nil || response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusUnauthorized {
			t.Errorf("the WebSocket %s with %v is not refused: %v", address, options.HTTPHeader["Origin"], err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", address, err)
		return
	}
	defer conn.CloseNow() //nolint:errcheck // the test has what it wants
	err = conn.Write(ctx, websocket.MessageText, []byte("echo"))
	if _, data, readErr := conn.Read(ctx); err != nil || readErr != nil || string(data) != "echo" {
		t.Errorf("%s: %q %v %v", address, data, err, readErr)
	}
}

// portAttacks tries to reach something else than the sandbox's own ports.
func (s *apiServer) portAttacks(id string) {
	t := s.m.t
	t.Helper()
	at := s.url + "/v1/sandboxes/" + id
	for what, attack := range map[string]struct {
		args     []string
		statuses []string
	}{
		"nobody listens":              {[]string{at + "/ports/3999/"}, []string{"502"}},
		"the supervisor's port":       {[]string{at + "/ports/11435/"}, []string{"502"}},
		"the name server's port":      {[]string{at + "/ports/53/"}, []string{"502"}},
		"the gateway as a port":       {[]string{at + "/ports/10.200.200.1:11434/"}, []string{"400", "404"}},
		"the gateway as a sandbox":    {[]string{s.url + "/v1/sandboxes/10.200.200.1/ports/11434/"}, []string{"400", "404"}},
		"the gateway as a host":       {[]string{"-H", "Host: 11434-10.200.200.1.localhost", s.url + "/"}, []string{"400", "404"}},
		"the gateway in the address":  {[]string{"--proxy", s.url, "http://10.200.200.1:11435/v1/sandboxes/" + id + "/ports/3000/"}, []string{"400", "403", "404"}},
		"the host by a user name":     {[]string{"-H", "Host: 3000-" + id + "@10.200.200.1", s.url + "/"}, []string{"400", "403", "404"}},
		"the API behind the port":     {[]string{"--path-as-is", at + "/ports/3000/../../../../v1/sandboxes"}, []string{"400"}},
		"another sandbox by the path": {[]string{"--path-as-is", at + "/ports/3000/%2e%2e/%2e%2e/x/ports/1/"}, []string{"400"}},
		"port 0":                      {[]string{at + "/ports/0/"}, []string{"400"}},
		"a port that is too large":    {[]string{at + "/ports/65536/"}, []string{"400"}},
		"no sandbox":                  {[]string{s.url + "/v1/sandboxes/zzzzz-sandbox/ports/3000/"}, []string{"404"}},
	} {
		if body, status := s.curl(attack.args...); !slices.Contains(attack.statuses, status) {
			t.Errorf("%s: %s %s", what, status, body)
		}
	}
	// Another tenant gets the same answer for a sandbox as for none, except for the id of the request.
	requestID := regexp.MustCompile(`"id":"\w+"`)
	other := *s
	other.token = strings.TrimSpace(s.m.aibox(0, "token", "create", "--tenant", "evil", "--right", "read,sandboxes,execute,network,volumes").stdout)
	theirs, status := other.curl(at + "/ports/3000/")
	none, _ := other.curl(s.url + "/v1/sandboxes/zzzzz-sandbox/ports/3000/")
	if status != "404" || requestID.ReplaceAllString(strings.ReplaceAll(theirs, id, "zzzzz-sandbox"), "") != requestID.ReplaceAllString(none, "") {
		t.Errorf("another tenant's sandbox: %s %s, and none: %s", status, theirs, none)
	}
	if body, status := other.curl("-H", "Host: 3000-"+id+".localhost", s.url+"/"); status != "404" {
		t.Errorf("another tenant's sandbox by host name: %s %s", status, body)
	}
	if body, status := other.curl("-d", "{}", at+"/ports/3000:sign"); status != "404" {
		t.Errorf("signing for another tenant's sandbox: %s %s", status, body)
	}
	for _, request := range []string{"CONNECT 10.200.200.1:11435 HTTP/1.1\r\nHost: 10.200.200.1:11435", "CONNECT 3000-" + id + ".localhost:80 HTTP/1.1\r\nHost: 3000-" + id + ".localhost:80"} {
		if got := s.raw(request + "\r\nAuthorization: Bearer " + s.token + "\r\n\r\n"); !strings.Contains(got, " 405 ") {
			t.Errorf("%q: %q", request, got)
		}
	}
}

// raw sends bytes and returns the first line of the answer.
func (s *apiServer) raw(request string) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.m.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hung))
	if _, err := fmt.Fprint(conn, request); err != nil {
		s.m.t.Fatal(err)
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}
