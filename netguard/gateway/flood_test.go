package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

const floodHead = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + placeholder + "\r\nContent-Type: application/json\r\n"

// flood opens connections and writes text on each. They stay open until the test ends.
func flood(t *testing.T, b *bench, count int, text string, read int) {
	t.Helper()
	for range count {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_, _ = io.WriteString(conn, text)
		for in := bufio.NewReader(conn); read > 0; read-- {
			_, _ = in.ReadString('\n')
		}
	}
}

// answered sends a request like a client that tries again when asked to.
func answered(t *testing.T, b *bench) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, "POST", b.url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+placeholder)
		r.Header.Set("Content-Type", "application/json")
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Errorf("an honest request: %v", err)
			return
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		if response.StatusCode != http.StatusTooManyRequests {
			t.Errorf("an honest request got %s", response.Status)
			return
		}
		select { // like a client that is asked to try again
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestFloodDoesNotBlockAnHonestRequest(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]struct {
		text string
		read int
	}{
		"nothing sent":             {"", 0},
		"half a header":            {floodHead, 0},
		"a header without a body":  {floodHead + "Content-Length: 50\r\n\r\n", 0},
		"half a body":              {floodHead + "Content-Length: 50\r\n\r\n{\"model\":", 0},
		"half a chunk":             {floodHead + "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"model\":", 0},
		"much of a body":           {floodHead + "Content-Length: 1000000\r\n\r\n" + strings.Repeat(" ", 200_000), 0},
		"a body waited for":        {floodHead + "Expect: 100-continue\r\nContent-Length: 50\r\n\r\n", 0},
		"an idle connection":       {"GET /aibox/health HTTP/1.1\r\nHost: x\r\n\r\n", 1},
		"a refused one, half sent": {"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, echo, nil)
			flood(t, b, 400, attack.text, attack.read)
			answered(t, b)
		})
	}
}

// The request of a client that stops reading its answer never ends, and counts against the
// limit.
func TestClientsThatReadNothingAreDisconnected(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 64)
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if r.Header.Get("X-Title") == "much" {
			_, _ = io.WriteString(w, strings.Repeat("x", 64<<20))
		}
	}, func(c *Config) { c.Concurrent = 4 })
	flood(t, b, 4, floodHead+"X-Title: much\r\nContent-Length: 27\r\n\r\n{\"model\":\"m\",\"messages\":[]}", 0)
	for range 4 {
		<-begun
	}
	answered(t, b)
}

func TestSlowRequestBodyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		gateway, err := New(Config{
			Upstream:    modelserver.Server{Kind: modelserver.Scripted, Dialects: []schema.Dialect{schema.OpenAI}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })},
			Placeholder: secret.New(placeholder),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- Serve(ctx, &oneConn{conn: server, done: make(chan struct{})}, gateway) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		start := time.Now()
		_, err = io.WriteString(client, floodHead+"Content-Length: 100000\r\n\r\n")
		for err == nil && time.Since(start) < time.Hour {
			time.Sleep(time.Second)
			_, err = io.WriteString(client, " ")
		}
		if took := time.Since(start); took > 3*bodyPause {
			t.Errorf("it went on for %v", took)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
