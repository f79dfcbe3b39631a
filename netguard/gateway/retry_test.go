package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"aibox/netguard"
)

// hangUp closes the connection of a request that has no answer yet.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close()
}

func TestRequestIsSentAgainOnlyWhereThatIsSafe(t *testing.T) {
	busy := func(status int, wait, body string) func(*testing.T, http.ResponseWriter) {
		return func(_ *testing.T, w http.ResponseWriter) {
			if wait != "" {
				w.Header().Set("Retry-After", wait)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, c := range map[string]struct {
		failure func(*testing.T, http.ResponseWriter)
		fails   int32 // first answers that fail
		acts    bool  // a server-side tool is open
		tries   int32
		status  int
	}{
		"429 with a short wait":          {busy(429, "0.01", ""), 1, false, 2, 200},
		"503 with a short wait":          {busy(503, "0.01", ""), 2, false, 3, 200},
		"529 with a short wait":          {busy(529, "0.01", ""), 9, false, 3, 529},
		"a busy server although it acts": {busy(529, "0.01", ""), 1, true, 2, 200},
		"429 with a long wait":           {busy(429, "6", ""), 1, false, 1, 429},
		"429 without a wait":             {busy(429, "", ""), 1, false, 1, 429},
		"an account without money":       {busy(429, "0.01", `{"error":{"type":"insufficient_quota","message":"pay"}}`), 1, false, 1, 429},
		"a refusal":                      {busy(400, "0.01", ""), 1, false, 1, 400},
		"a broken server":                {busy(500, "0.01", ""), 1, false, 1, 500},
		// It may have computed an answer, which costs.
		"hung up before the answer":        {hangUp, 1, false, 1, 502},
		"hung up by a server that may act": {hangUp, 1, true, 1, 502},
		"hung up after the answer has begun": {func(t *testing.T, w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {}\n\n")
			w.(http.Flusher).Flush()
			hangUp(t, w)
		}, 1, false, 1, 200},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			var bodies []string
			b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				if tries.Add(1) <= c.fails {
					c.failure(t, w)
					return
				}
				fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"}}]}`)
			}, func(config *Config) {
				if c.acts {
					config.ServerTools = []netguard.ServerTool{netguard.WebSearch}
				}
			})
			answer := b.send(t, "POST", chat, ask(100_000))
			_, _ = io.Copy(io.Discard, answer.Body)
			if answer.StatusCode != c.status || tries.Load() != c.tries {
				t.Errorf("status %d after %d tries, want %d after %d", answer.StatusCode, tries.Load(), c.status, c.tries)
			}
			if event := b.last(t); int32(event.Retries) != c.tries-1 || event.Sent != int64(len(bodies[0])+len("Go-http-client/1.1")) {
				t.Errorf("%+v", event)
			}
			for _, body := range bodies {
				if body != bodies[0] || !strings.Contains(body, "xxxx") {
					t.Errorf("another body was sent: %d bytes, not %d", len(body), len(bodies[0]))
				}
			}
		})
	}
}

// The server read the request, on a connection that it kept open after the one before.
func TestRequestThatWasReadIsNeverSentAgain(t *testing.T) {
	for name, fail := range map[string]func(net.Conn){
		"closed": func(net.Conn) {},
		"reset":  func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) },
	} {
		var tries atomic.Int32
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if tries.Add(1) != 2 {
				fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"}}]}`)
				return
			}
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fail(conn)
			_ = conn.Close()
		}, nil)
		for i, want := range []int{200, 502, 200} {
			answer := b.send(t, "POST", chat, ask(1), "Idempotency-Key", "a")
			_, _ = io.Copy(io.Discard, answer.Body)
			if event := b.last(t); answer.StatusCode != want || int(tries.Load()) != i+1 || event.Retries != 0 {
				t.Errorf("%s: after request %d: %d, %d tries, %+v", name, i+1, answer.StatusCode, tries.Load(), event)
			}
		}
	}
}

// Agents try again as well; their tries and the gateway's do not multiply.
func TestTriesOfAgentAndGatewayDoNotMultiply(t *testing.T) {
	var tries atomic.Int32
	busy := func() bool { n := tries.Load(); return n <= 5 || n == 7 }
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		if busy() {
			w.Header().Set("Retry-After", "0.01")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"}}]}`)
	}, nil)
	for i, want := range []int32{3, 4, 5, 6, 8} { // the gateway's tries, the agent's, and again the gateway's
		answer := b.send(t, "POST", chat, ask(1))
		_, _ = io.Copy(io.Discard, answer.Body)
		if got := tries.Load(); got != want || (answer.StatusCode == http.StatusOK) != (i > 2) {
			t.Errorf("after request %d the server was asked %d times, not %d; the answer is %d", i+1, got, want, answer.StatusCode)
		}
	}
}

func TestUnreachableServerIsTriedAgainAFewTimes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	b := newBench(t, func(http.ResponseWriter, *http.Request) {}, func(c *Config) {
		c.Upstream.URL = &url.URL{Scheme: "http", Host: address}
	})
	answer := b.send(t, "POST", chat, ask(1))
	if event := b.last(t); answer.StatusCode != 502 || event.Retries != retryLimit || event.Outcome != Broken {
		t.Errorf("%d %+v", answer.StatusCode, event)
	}
}
