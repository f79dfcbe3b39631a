package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

func TestTooLargeRequestIsRejectedWithOrWithoutALength(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, func(c *Config) { c.MaxBody = 1 << 20 })
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", 2<<20)), io.MultiReader(strings.NewReader(strings.Repeat("x", 2<<20)))} {
		r, err := http.NewRequest("POST", b.url+"/v1/chat/completions", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+placeholder)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%d %s", response.StatusCode, text(t, response))
		}
		response.Body.Close()
	}
}

func TestRequestsOverTheLimitGetRetryAfter(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-leave }, func(c *Config) { c.Concurrent = 2 })
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`) })
		<-arrived
	}
	response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`)
	if response.StatusCode != 429 || response.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	close(leave)
	wait.Wait()
	go func() { <-arrived }()
	if response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`); response.StatusCode != 200 {
		t.Errorf("then %d", response.StatusCode)
	}
}

// raw sends bytes that no client library would send.
func (b *bench) raw(t *testing.T, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line
}

func TestSmuggledAndProxyRequestsAreRejected(t *testing.T) {
	b := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, nil)
	auth := "Host: x\r\nAuthorization: Bearer " + placeholder + "\r\n"
	for _, request := range []string{
		"POST /v1/chat/completions HTTP/1.1\r\n" + auth + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
		"POST /v1/chat/completions HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\n" + auth + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\n" + auth + "Host: y\r\n\r\n",
		"POST http://169.254.169.254/v1/chat/completions HTTP/1.1\r\n" + auth + "Content-Length: 0\r\n\r\n",
		"CONNECT 169.254.169.254:80 HTTP/1.1\r\n" + auth + "\r\n",
		"GET / HTTP/1.1\r\n" + auth + "X: " + strings.Repeat("x", 128<<10) + "\r\n\r\n",
	} {
		if line := b.raw(t, request); !strings.HasPrefix(line, "HTTP/1.1 4") && !strings.HasPrefix(line, "HTTP/1.1 5") {
			t.Errorf("%.60q: %q", request, line)
		}
	}
}

func TestChunkedBodyWithALengthReachesUpstreamAsOneRequest(t *testing.T) {
	var bodies []string
	var mu sync.Mutex
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, r.URL.Path+" "+string(body))
	}, nil)
	b.raw(t, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+placeholder+
		"\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nd\r\n{\"model\":\"m\"}\r\n0\r\n\r\nPOST /v1/files HTTP/1.1\r\nHost: x\r\n\r\n")
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) > 1 || len(bodies) == 1 && bodies[0] != `/v1/chat/completions {"model":"m"}` {
		t.Errorf("upstream saw %q", bodies)
	}
}

func TestStalledRequestBodyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		gateway, err := New(Config{
			Upstream:    modelserver.Server{Kind: modelserver.Scripted, Dialects: []schema.Dialect{schema.OpenAI}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })},
			Placeholder: secret.New(placeholder),
		})
		if err != nil {
			t.Fatal(err)
		}
		listener := &oneConn{conn: server, done: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- Serve(ctx, listener, gateway) }()
		_, _ = io.WriteString(client, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+placeholder+"\r\nContent-Length: 100\r\n\r\n{")
		start := time.Now()
		_, _ = io.Copy(io.Discard, client)
		if waited := time.Since(start); waited < bodyPause || waited > bodyPause+10*time.Second {
			t.Errorf("cut off after %v", waited)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	mu   sync.Mutex
	conn net.Conn
	done chan struct{}
	once sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
