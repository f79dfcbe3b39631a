package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/scripted"
)

// A modelFailure is a way in which a model server fails at every request for an answer.
type modelFailure struct {
	name   string // as test/docs names it
	script scripted.Script
	wait   string   // the Retry-After of its answers
	cut    int      // bytes of an answer after which the connection ends; 0 for none
	empty  bool     // answers 200 and sends nothing
	silent bool     // never answers
	args   []string // of aibox run
	always []string // agents that every run of the test tries it with
}

// modelFailures are the failures that docs/agents.md describes. Each agent is always tested
// with at least one, and each failure with the agent that handles it fastest or gives up
// last.
func modelFailures() []modelFailure {
	status := func(status int, message string) scripted.Script {
		return scripted.Script{Steps: []scripted.Step{{Fail: &scripted.Fail{Status: status, Message: message}}}}
	}
	return []modelFailure{
		{name: "401", script: status(401, "Incorrect API key provided: sk-***"), always: []string{"claude"}},
		{name: "404", script: status(404, "The model does not exist"), always: []string{"gemini"}},
		{name: "429", script: status(429, "Rate limit reached"), wait: "2", always: []string{"codex"}},
		{name: "500", script: status(500, "Out of memory"), always: []string{"opencode", "qwen", "copilot"}},
		{name: "cut off", script: scripted.Script{Steps: []scripted.Step{{Say: strings.Repeat("I look at it, and I go on. ", 200)}}}, cut: 3000, always: []string{"claude"}},
		{name: "empty", empty: true, always: []string{"copilot"}},
		{name: "silent", silent: true, args: []string{"--model-timeout", "15s"}, always: []string{"codex"}},
	}
}

// failingModel is a model server in every dialect that lists its model and fails in one
// way. Unlike the built-in server, it does not ask agents to retry without a delay, because
// no real server does.
type failingModel struct {
	URL string

	failure modelFailure
	model   http.Handler
	mu      sync.Mutex
	first   time.Time // when the first request for an answer came
}

func (f modelFailure) serve(t *testing.T) *failingModel {
	t.Helper()
	m := &failingModel{failure: f, model: scripted.New(f.script)}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

func (m *failingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !generates(r.URL.Path) {
		m.model.ServeHTTP(w, r)
		return
	}
	m.mu.Lock()
	if m.first.IsZero() {
		m.first = time.Now()
	}
	m.mu.Unlock()
	switch {
	case m.failure.silent:
		_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client is gone
		<-r.Context().Done()
	case m.failure.empty:
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
	default:
		m.model.ServeHTTP(&failingWriter{ResponseWriter: w, failure: m.failure, room: m.failure.cut}, r)
	}
}

// since is the time since the first request for an answer.
func (m *failingModel) since() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.first)
}

// generates reports whether a path is one that a model answers at.
func generates(path string) bool {
	for _, end := range []string{"/chat/completions", "/responses", "/messages", "enerateContent"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// failingWriter makes an answer of the built-in server one of a server that fails.
type failingWriter struct {
	http.ResponseWriter
	failure modelFailure
	room    int
}

func (w *failingWriter) WriteHeader(status int) {
	w.Header().Del("X-Should-Retry")
	w.Header().Del("Retry-After-Ms")
	if w.failure.wait != "" {
		w.Header().Set("Retry-After", w.failure.wait)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.failure.cut == 0 {
		return w.ResponseWriter.Write(p)
	}
	n := min(len(p), w.room)
	w.room -= n
	if _, err := w.ResponseWriter.Write(p[:n]); err != nil || w.room > 0 {
		return n, err
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func (w *failingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
