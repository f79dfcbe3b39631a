package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/netguard/egress/egresstest"
)

// forwardWorld has one server behind good.example.org:80.
func forwardWorld(t *testing.T, handler http.HandlerFunc) (*world, *site) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, handler)
	w.Route("good.example.org", 80, good.address())
	return w, good
}

// dialProxy returns a connection to the proxy.
func (w *world) dialProxy() net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func TestTheClientIsAskedToContinueOnlyWhenTheServerIs(t *testing.T) {
	for path, want := range map[string]string{"/take": "HTTP/1.1 100", "/refuse": "HTTP/1.1 413"} {
		w, _ := forwardWorld(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refuse" {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			hello(w, r)
		})
		conn := w.dialProxy()
		fmt.Fprintf(conn, "PUT http://good.example.org%s HTTP/1.1\r\n%sExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", path, goodHost)
		reader := bufio.NewReader(conn)
		line, err := reader.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("%s: %q, %v", path, line, err)
		}
		if path == "/refuse" {
			continue
		}
		_, _ = reader.ReadString('\n')
		_, _ = io.WriteString(conn, "abc")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(response.Body); string(body) != "PUT good.example.org abc" {
			t.Errorf("%q", body)
		}
	}
}

func TestTrailersPassBothWays(t *testing.T) {
	w, good := forwardWorld(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "12")
	})
	conn := w.dialProxy()
	_, _ = io.WriteString(conn, "POST http://good.example.org/ HTTP/1.1\r\n"+goodHost+"Transfer-Encoding: chunked\r\nTrailer: X-Check\r\nTE: trailers\r\n\r\n3\r\nabc\r\n0\r\nX-Check: 7\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if string(body) != "body" || response.Trailer.Get("X-Sum") != "12" {
		t.Errorf("%q, %v", body, response.Trailer)
	}
	if got := good.received()[0].Trailer.Get("X-Check"); got != "7" {
		t.Errorf("the server received the trailer %q", got)
	}
}

func TestResponsesWithoutABodyKeepTheConnection(t *testing.T) {
	w, _ := forwardWorld(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Length", "5")
			fmt.Fprint(w, "12345")
		}
	})
	conn := w.dialProxy()
	reader := bufio.NewReader(conn)
	for _, line := range []string{"HEAD /head", "GET /204", "GET /304", "GET /"} {
		method, path, _ := strings.Cut(line, " ")
		fmt.Fprintf(conn, "%s http://good.example.org%s HTTP/1.1\r\n%s\r\n", method, path, goodHost)
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		body, _ := io.ReadAll(response.Body)
		if len(body) != map[string]int{"/": 5}[path] || method == "HEAD" && response.ContentLength != 5 {
			t.Errorf("%s: %q, length %d", line, body, response.ContentLength)
		}
	}
}

func TestAStreamIsPassedOnAsItComes(t *testing.T) {
	next := make(chan struct{})
	w, _ := forwardWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "event %d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	response, err := w.client().Get("http://good.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	for i := range 3 {
		if line, err := reader.ReadString('\n'); err != nil || line != fmt.Sprintf("event %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
		next <- struct{}{}
	}
}

func TestABodyThatTheServerDoesNotReadEndsTheConnection(t *testing.T) {
	w, _ := forwardWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "no")
	})
	conn := w.dialProxy()
	go func() {
		fmt.Fprintf(conn, "POST http://good.example.org/ HTTP/1.1\r\n%sContent-Length: 100000000\r\n\r\n", goodHost)
		_, _ = conn.Write(make([]byte, 1<<20))
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "no" || err != nil || !response.Close {
		t.Errorf("%q, %v, close %v", body, err, response.Close)
	}
}

func TestATruncatedResponseIsNotCompleted(t *testing.T) {
	w, _ := forwardWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, _ := http.NewResponseController(w).Hijack()
		_, _ = buffer.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
		_ = buffer.Flush()
		conn.Close()
	})
	response, err := w.client().Get("http://good.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%q ended as if it were whole", body)
	}
}

func TestAWebSocketPassesAndIsCounted(t *testing.T) {
	for _, form := range []string{"absolute", "tunnel"} {
		w, _ := forwardWorld(t, func(w http.ResponseWriter, r *http.Request) {
			conn, buffer, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", r.Header.Get("Sec-Websocket-Key"))
			line, _ := buffer.ReadString('\n')
			_, _ = io.WriteString(conn, strings.ToUpper(line))
		})
		fields := " HTTP/1.1\r\n" + goodHost + "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n"
		var conn net.Conn
		if form == "tunnel" {
			conn = w.connect("good.example.org:80")
			_, _ = io.WriteString(conn, "GET /"+fields)
		} else {
			conn = w.dialProxy()
			_, _ = io.WriteString(conn, "GET http://good.example.org/"+fields)
		}
		reader := bufio.NewReader(conn)
		response, err := http.ReadResponse(reader, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-Websocket-Accept") != "k" {
			t.Fatalf("%s: %v, %v", form, response, err)
		}
		_, _ = io.WriteString(conn, "hello\n")
		if line, err := reader.ReadString('\n'); line != "HELLO\n" {
			t.Errorf("%s: %q, %v", form, line, err)
		}
		conn.Close()
		if closed := waitFor(t, w, Closed); closed.Up == 0 || closed.Down == 0 {
			t.Errorf("%s: %d bytes up, %d down", form, closed.Up, closed.Down)
		}
	}
}

func TestConnectionsToServersAreReused(t *testing.T) {
	w, _ := forwardWorld(t, hello)
	w.say(strings.Repeat("GET http://good.example.org/ HTTP/1.1\r\n"+goodHost+"\r\n", 10), 10)
	if len(w.Dialed()) != 1 {
		t.Errorf("%d connections for 10 requests", len(w.Dialed()))
	}
}

func TestAServerThatCannotBeReachedIsNotARefusal(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	w.Name("good.example.org", addresses("11.11.1.1")...)
	for _, raw := range []string{"GET http://good.example.org/ HTTP/1.1\r\n" + goodHost + "\r\n", "CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", "CONNECT a.wild.example.org:443 HTTP/1.1\r\n\r\n"} {
		responses := w.say(raw, 1)
		body, _ := io.ReadAll(responses[0].Body)
		if responses[0].StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "is allowed, but cannot be reached") {
			t.Errorf("%s %s", responses[0].Status, body)
		}
	}
}

// The sandbox learns neither the addresses of this machine nor those of its name servers.
func TestWhyAServerCannotBeReachedNamesNoAddressOfThisMachine(t *testing.T) {
	local := &net.TCPAddr{IP: net.IPv4(192, 168, 7, 7), Port: 40001}
	query := &net.OpError{Op: "read", Net: "udp", Source: local, Addr: &net.UDPAddr{IP: net.IPv4(192, 168, 7, 1), Port: 53}, Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "a.example", Server: "192.168.7.1:53", IsNotFound: true}, "there is no such host"},
		{&net.DNSError{Err: query.Error(), Name: "a.example", Server: "192.168.7.1:53", IsTimeout: true}, "its name was not resolved in time"},
		{&net.DNSError{Err: "server misbehaving", Name: "a.example", Server: "192.168.7.1:53"}, "its name cannot be resolved"},
		{&net.OpError{Op: "read", Net: "tcp", Source: local, Addr: local, Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "read: connection reset by peer"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, "remote error: tls: bad certificate"},
		{errors.New("unexpected EOF"), "unexpected EOF"},
	} {
		if got := unreachable(c.err).reason; got != "it is allowed, but cannot be reached: "+c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

func TestARefusalIsJSONForThoseWhoAcceptIt(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	responses := w.say("GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\nAccept: application/json\r\n\r\n", 1)
	body, _ := io.ReadAll(responses[0].Body)
	for _, want := range []string{`"host":"evil.example.net"`, `"port":80`, `"code":"not-listed"`, `"id":"k3f9-codex/1"`, `"command":"aibox allow k3f9-codex evil.example.net:80"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	if responses[0].Header.Get("Content-Type") != "application/json" {
		t.Error(responses[0].Header)
	}
}

// The reason can have text of the sandbox, or of a server, such as the names in its certificate.
func TestARefusalEscapesForeignText(t *testing.T) {
	foreign := "e\x1b[31mvil\u202e\r\nX-Evil: 1\r\n\r\n<script>"
	problem := forbid("unreachable", "the certificate is for %s", foreign).withHint(foreign)
	to := egresstest.Destination(t, "good.example.org:443")
	raw := problem.response(problem.body("GET", to, "k3f9-codex/1", "aibox allow "+foreign), "", false)
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil || response.Header.Get("X-Evil") != "" {
		t.Errorf("%v, %v in %q", err, response, raw)
	}
	for _, c := range string(raw) {
		if c < ' ' && c != '\r' && c != '\n' || c > '~' {
			t.Errorf("%q has %q", raw, c)
		}
	}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "X-Evil") || strings.HasPrefix(line, "<script>") {
			t.Errorf("%q has the line %q", raw, line)
		}
	}
}
