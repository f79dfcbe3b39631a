package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

const (
	realKey     = "sk-real-CANARY-0123456789abcdef"
	placeholder = "sk-aibox-placeholder"
)

// bench is a gateway in front of an upstream made of a handler.
type bench struct {
	url      string
	upstream *httptest.Server

	mu      sync.Mutex
	events  []Event
	arrived chan struct{} // has a value when an event has arrived
}

func (b *bench) log(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// last returns the latest event, which arrives after an answer's last byte.
func (b *bench) last(t *testing.T) Event {
	t.Helper()
	for {
		b.mu.Lock()
		events := b.events
		b.mu.Unlock()
		if n := len(events); n > 0 {
			return events[n-1]
		}
		select {
		case <-b.arrived:
		case <-time.After(time.Minute):
			t.Fatal("no event")
		}
	}
}

func newBench(t testing.TB, handler http.HandlerFunc, change func(*Config)) *bench {
	t.Helper()
	b := &bench{upstream: httptest.NewServer(handler), arrived: make(chan struct{}, 1)}
	t.Cleanup(b.upstream.Close)
	root, err := url.Parse(b.upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Upstream:    modelserver.Server{Kind: modelserver.Compatible, Name: "test", URL: root, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}, Key: secret.New(realKey)},
		Placeholder: secret.New(placeholder),
		Log:         b.log,
		Models:      func() []string { return []string{"m", "x"} },
	}
	if change != nil {
		change(&config)
	}
	gateway, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- Serve(ctx, listener, gateway) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		gateway.Close()
	})
	b.url = "http://" + listener.Addr().String()
	return b
}

// send makes a request with the placeholder as bearer unless headers say otherwise.
func (b *bench) send(t testing.TB, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+placeholder)
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func text(t testing.TB, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.Path, "query": r.URL.RawQuery, "header": r.Header, "host": r.Host, "body": string(body)})
}
