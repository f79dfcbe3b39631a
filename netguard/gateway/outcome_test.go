package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aibox/netguard/gateway/schema"
)

// A model server's error message reaches the log, whether the server fails at once or in
// the middle of an answer.
func TestFailureIsLoggedWithTheServersMessage(t *testing.T) {
	const chat, responses, messages = "/openai/v1/chat/completions", "/openai/v1/responses", "/anthropic/v1/messages"
	for name, test := range map[string]struct {
		path    string
		status  int
		header  string
		body    string
		outcome Outcome
		reason  string
	}{
		"well":                 {chat, 200, "", `{"choices":[{"message":{"content":"{\"error\":{\"message\":\"no\"}}"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Answered, ""},
		"a wrong key":          {chat, 401, "", `{"error":{"message":"Incorrect API key provided: ` + realKey + `"}}`, Refused, "Incorrect API key provided: *******************************"},
		"no money":             {chat, 402, "", `{"error":{"message":"Insufficient credits","code":402}}`, Refused, "Insufficient credits"},
		"busy":                 {chat, 429, "", `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, Busy, "Rate limit reached"},
		"an empty account":     {chat, 429, "", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, Refused, "You exceeded your current quota"},
		"overloaded":           {messages, 529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Busy, "Overloaded"},
		"busy for a while":     {chat, 429, "20", `{"error":{"message":"Rate limit reached"}}`, Busy, "Rate limit reached"},
		"loading":              {chat, 503, "", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, Busy, "Loading model"},
		"later":                {chat, 503, "5", `{"error":"loading"}`, Busy, "loading"},
		"down":                 {chat, 503, "", `{"error":"down"}`, Broken, "down"},
		"failing":              {chat, 500, "", ``, Broken, ""},
		"not there":            {"/ollama/api/chat", 404, "", `{"error":"model 'x' not found"}`, Refused, "model 'x' not found"},
		"chat, on the way":     {chat, 200, "", "data: {\"choices\":[]}\n\ndata: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"}}\n\n", Broken, "Provider disconnected"},
		"messages, on the way": {messages, 200, "", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", Busy, "Overloaded"},
		"responses, at last":   {responses, 200, "", "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"The model \\\"x\\\" failed\"}}}\n\n", Broken, `The model "x" failed`},
		"responses, an event":  {responses, 200, "", "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"gone\"}\n\n", Broken, "gone"},
		"ollama, on the way":   {"/ollama/api/chat", 200, "", "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"error\":\"llama runner process has terminated\"}\n", Broken, "llama runner process has terminated"},
		"a long message":       {chat, 200, "", "data: {\"error\":{\"message\":\"" + strings.Repeat("x", 400) + "\"}}\n\n", Broken, strings.Repeat("x", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			var begun atomic.Int64
			b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}, func(c *Config) { c.OnRequest = func() { begun.Add(1) } })
			_ = text(t, b.send(t, "POST", test.path, `{"model":"x"}`))
			event := b.last(t)
			if event.Outcome != test.outcome || event.Reason != test.reason || !event.Generates || begun.Load() != 1 {
				t.Errorf("%v %q, begun %d: %+v", event.Outcome, event.Reason, begun.Load(), event)
			}
			if wait, _ := time.ParseDuration(test.header + "s"); event.RetryAfter != wait {
				t.Errorf("it asks to wait %v, not %v", event.RetryAfter, wait)
			}
			if strings.Contains(fmt.Sprintf("%+v", event), realKey) {
				t.Errorf("the key is in %+v", event)
			}
		})
	}
}

func TestTruncatedAnswerIsAFailure(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	_, _ = io.ReadAll(b.send(t, "POST", "/openai/v1/chat/completions", `{"model":"m"}`).Body)
	if event := b.last(t); event.Outcome != Broken || !strings.Contains(event.Error, "broke off") {
		t.Errorf("%+v", event)
	}
}

// Clients disconnect when they have read enough, or have waited too long.
func TestDisconnectedAgentCountsAsAnsweredOrCanceled(t *testing.T) {
	for first, want := range map[string]Outcome{
		events(`{"choices":[{"delta":{"content":"a"}}]}`): Answered, ": ping\n\n": GivenUp, "": GivenUp,
		events(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`) + "data: [DONE]\n\n": Blank, // it has the whole answer
	} {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, nil)
		response := b.send(t, "POST", "/openai/v1/chat/completions", `{"model":"m"}`)
		if _, err := io.ReadFull(response.Body, make([]byte, len(first))); err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if event := b.last(t); event.Outcome != want || event.Error != "" {
			t.Errorf("after %q: %+v", first, event)
		}
	}
}

func TestOnlyInferenceRequestsChangeModelHealth(t *testing.T) {
	for request, want := range map[string]bool{
		"POST /openai/v1/chat/completions": true, "POST /openai/v1/responses": true, "POST /anthropic/v1/messages": true,
		"POST /gemini/v1beta/models/g:streamGenerateContent": true, "POST /ollama/api/generate": true,
		"GET /openai/v1/models": false, "GET /openai/v1/responses": false, "POST /anthropic/v1/messages/count_tokens": false,
		"POST /openai/v1/embeddings": false, "POST /ollama/api/show": false, "POST /anthropic/api/event_logging/batch": false,
	} {
		b := newBench(t, echo, nil)
		method, path, _ := strings.Cut(request, " ")
		_ = text(t, b.send(t, method, path, `{}`))
		if event := b.last(t); event.Generates != want || event.Spends != (want || strings.HasSuffix(request, "/embeddings")) {
			t.Errorf("%s: %+v", request, event)
		}
	}
}

func TestGatewayRejectionsAndFailuresAreClassified(t *testing.T) {
	const chat = "/openai/v1/chat/completions"
	for name, test := range map[string]struct {
		path    string
		key     string // empty for the placeholder
		handler http.HandlerFunc
		change  func(*Config)
		want    Outcome
		why     string
	}{
		"no server": {chat, "", echo, func(c *Config) { c.Upstream.URL.Host = "127.0.0.1:1" }, Broken, "nothing answers"},
		"hung up":   {chat, "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, Broken, "hung up"},
		"redirect": {chat, "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/x")
			w.WriteHeader(http.StatusFound)
		}, nil, Refused, "redirect"},
		"another key":     {chat, "wrong", echo, nil, Refused, "takes only the key"},
		"another dialect": {"/gemini/v1beta/models/g:generateContent", "", echo, func(c *Config) { c.Upstream.Dialects = []schema.Dialect{schema.OpenAI} }, Refused, "does not speak the gemini API"},
		"too large":       {chat, "", echo, func(c *Config) { c.MaxBody = 1 }, Refused, "larger than"},
	} {
		b := newBench(t, test.handler, test.change)
		headers := []string{}
		if test.key != "" {
			headers = []string{"Authorization", "Bearer " + test.key}
		}
		_ = text(t, b.send(t, "POST", test.path, `{"model":"x"}`, headers...))
		if event := b.last(t); event.Outcome != test.want || !event.Generates || !strings.Contains(event.Error, test.why) || event.Reason != "" {
			t.Errorf("%s: %+v", name, event)
		}
	}
}
