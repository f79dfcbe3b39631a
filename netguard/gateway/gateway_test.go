package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

func TestEachDialectReachesOnlyItsPathWithTheRealKey(t *testing.T) {
	var got *http.Request
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) { got = r.Clone(context.Background()) }, func(c *Config) {
		c.Models = func() []string { return []string{"m", "gemini-2.5-flash", "org/model-7b:free"} }
	})
	for _, test := range []struct {
		method, path, want, header, key string
	}{
		{"POST", "/openai/v1/chat/completions", "/v1/chat/completions", "Authorization", "Bearer " + realKey},
		{"POST", "/openai/chat/completions", "/v1/chat/completions", "Authorization", "Bearer " + realKey},
		{"POST", "/v1/responses", "/v1/responses", "Authorization", "Bearer " + realKey},
		{"GET", "/openai/v1/models", "/v1/models", "Authorization", "Bearer " + realKey},
		{"GET", "/v1/models/org/model-7b:free", "/v1/models/org/model-7b:free", "Authorization", "Bearer " + realKey},
		{"POST", "/anthropic/v1/messages?beta=true", "/v1/messages", "X-Api-Key", realKey},
		{"POST", "/v1/messages/count_tokens", "/v1/messages/count_tokens", "X-Api-Key", realKey},
		{"POST", "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "X-Goog-Api-Key", realKey},
		{"POST", "/v1beta/models/gemini-2.5-flash:generateContent", "/v1beta/models/gemini-2.5-flash:generateContent", "X-Goog-Api-Key", realKey},
		{"POST", "/gemini/v1beta/models/org/model-7b:free:generateContent", "/v1beta/models/org/model-7b:free:generateContent", "X-Goog-Api-Key", realKey},
		{"POST", "/ollama/api/chat", "/api/chat", "Authorization", "Bearer " + realKey},
		{"GET", "/api/tags", "/api/tags", "Authorization", "Bearer " + realKey},
	} {
		got = nil
		response := b.send(t, test.method, test.path, `{"model":"m"}`,
			"Cookie", "a=b", "X-Forwarded-For", "10.0.0.1", "Forwarded", "for=1", "Proxy-Authorization", "Basic eA==", "X-Real-Ip", "1.2.3.4",
			"Openai-Organization", "org-x", "X-Evil", "1", "Te", "trailers", "Keep-Alive", "1", "Anthropic-Version", "2023-06-01")
		if strings.Contains(test.path, "/models") && test.method == "GET" {
			response = b.send(t, test.method, test.path, "")
		}
		if response.StatusCode != 200 || got == nil {
			t.Errorf("%s %s: %d %s", test.method, test.path, response.StatusCode, text(t, response))
			continue
		}
		if got.URL.Path != test.want || got.Header.Get(test.header) != test.key {
			t.Errorf("%s: upstream saw %s %v", test.path, got.URL.Path, got.Header)
		}
		if strings.Contains(fmt.Sprint(got.Header), placeholder) {
			t.Errorf("%s: the placeholder went upstream", test.path)
		}
		for _, name := range []string{"Cookie", "X-Forwarded-For", "Forwarded", "Proxy-Authorization", "X-Real-Ip", "Openai-Organization", "X-Evil", "Te", "Keep-Alive"} {
			if got.Header.Get(name) != "" {
				t.Errorf("%s: header %s went upstream", test.path, name)
			}
		}
	}
}

func TestPlaceholderIsAcceptedWhereADialectPutsItsKey(t *testing.T) {
	var query string
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) { query = r.URL.RawQuery }, nil)
	for _, test := range []struct {
		path   string
		header []string
		want   int
	}{
		{"/v1/chat/completions", []string{"Authorization", "Bearer " + placeholder}, 200},
		{"/v1/chat/completions", []string{"Authorization", "bearer " + placeholder}, 200},
		{"/v1/messages", []string{"Authorization", "", "X-Api-Key", placeholder}, 200},
		{"/v1beta/models/m:generateContent", []string{"Authorization", "", "X-Goog-Api-Key", placeholder}, 200},
		{"/v1beta/models/m:generateContent?alt=sse&key=" + placeholder, []string{"Authorization", ""}, 200},
		{"/api/chat", []string{"Authorization", ""}, 200},
		{"/api/chat", []string{"Authorization", "Bearer wrong"}, 401},
		{"/v1/chat/completions", []string{"Authorization", ""}, 401},
		{"/v1/chat/completions", []string{"Authorization", placeholder}, 401},
		{"/v1/chat/completions", []string{"Authorization", "Basic " + placeholder}, 401},
		{"/v1/chat/completions", []string{"Authorization", "Bearer sk-somebodys-own"}, 401},
		{"/v1/messages", []string{"X-Api-Key", "sk-ant-somebodys-own"}, 401}, // in addition to the placeholder
		{"/v1/messages?key=other", nil, 401},
	} {
		response := b.send(t, "POST", test.path, `{"model":"m"}`, test.header...)
		if response.StatusCode != test.want {
			t.Errorf("%s %v: %d, want %d", test.path, test.header, response.StatusCode, test.want)
		}
		if strings.Contains(query, "key=") {
			t.Errorf("a key went upstream in %q", query)
		}
	}
}

func TestErrorsHaveTheDialectsShape(t *testing.T) {
	b := newBench(t, echo, nil)
	for path, want := range map[string]string{
		"/openai/v1/chat/completions":             `{"error":{"code":null,"message":`,
		"/anthropic/v1/messages":                  `{"error":{"message":`,
		"/gemini/v1beta/models/m:generateContent": `{"error":{"code":401,"message":`,
		"/ollama/api/chat":                        `{"error":"this is`,
	} {
		response := b.send(t, "POST", path, `{}`, "Authorization", "Bearer wrong")
		if body := text(t, response); response.StatusCode != 401 || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
		if response.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: clients would retry", path)
		}
	}
}

func TestARepeatedParameterIsNotPassedOn(t *testing.T) {
	query := url.Values{"beta": {"true", "CANARY"}, "other": {"CANARY"}}
	if clean, _ := cleanQuery(query); clean != "" {
		t.Errorf("got %q", clean)
	}
	query["beta"] = []string{"true"}
	if clean, _ := cleanQuery(query); clean != "beta=true" {
		t.Errorf("got %q", clean)
	}
}

// In another form, nobody could count an answer's tokens.
func TestOnlyAnswersThatCanBeReadAreAskedFor(t *testing.T) {
	var query, accept string
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) { query, accept = r.URL.RawQuery, r.Header.Get("Accept") }, nil)
	for _, c := range []struct{ query, accept, wantQuery, wantAccept, leftOut string }{
		{"?alt=sse", "text/event-stream", "alt=sse", "text/event-stream", ""},
		{"?alt=json", "application/json, */*;q=0.5", "alt=json", "application/json, */*;q=0.5", ""},
		{"?alt=proto", "application/x-protobuf", "", "", "?alt accept=application/x-protobuf"},
		{"?alt=media", "APPLICATION/JSON,x/y", "", "APPLICATION/JSON", "accept=x/y"},
		{"?alt=SSE", "", "", "", ""},
		{"?alt=json&alt=proto", "", "", "", ""},
	} {
		b.events = nil
		b.send(t, "POST", "/gemini/v1beta/models/m:generateContent"+c.query, `{"contents":[]}`, "Accept", c.accept)
		if query != c.wantQuery || accept != c.wantAccept {
			t.Errorf("%s, %q: got %q, %q", c.query, c.accept, query, accept)
		}
		if left := strings.Join(b.last(t).LeftOut, " "); left != c.leftOut { // each only once
			t.Errorf("%s, %q: left out are %s", c.query, c.accept, left)
		}
	}
}

// Otherwise headers and parameters could send the server any amount of data.
func TestHeadersAndParametersAreBoundedAndCountedAsSent(t *testing.T) {
	sent := 0
	b := newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		sent += len(r.URL.RawQuery)
		for _, name := range append(requestHeaders(), "Anthropic-Beta") {
			sent += sizeOf(r.Header[name])
		}
	}, func(c *Config) { c.UploadLimit = 20_000 })
	long := strings.Repeat("x", valueLimit)
	for range 2 {
		b.send(t, "GET", "/v1/models?after="+long+"x&limit="+long, "", "User-Agent", long, "X-Title", long+"x")
	}
	if event := b.last(t); sent != 2*(len("limit=")+2*valueLimit) || event.Sent != int64(sent/2) {
		t.Errorf("%d bytes went upstream, and the last event is %+v", sent, event)
	}
	if left := strings.Join(b.events[0].LeftOut, " "); left != "?after x-title" {
		t.Errorf("left out are %s", left)
	}
	var betas []string
	for i := range 2000 {
		betas = append(betas, fmt.Sprintf("claude-code-20%02d-%02d-%02d", i/100, i%100, i%10))
	}
	before := sent
	b.send(t, "POST", "/v1/messages/count_tokens", `{"model":"m","messages":[]}`, "Anthropic-Beta", strings.Join(betas, ","))
	if values := sent - before; values < betasLimit || values > betasLimit+500 {
		t.Errorf("%d bytes of beta values went upstream", values)
	}
	status := 0
	for range 100 {
		status = b.send(t, "GET", "/v1/models?limit="+long, "").StatusCode
	}
	if sent > 20_000 || status != http.StatusForbidden || b.last(t).Limit != UploadLimit {
		t.Errorf("%d bytes went upstream, the last status is %d: %+v", sent, status, b.last(t))
	}
}

func TestOnlyInferencePasses(t *testing.T) {
	b := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, nil)
	for _, call := range []string{
		"POST /api/pull", "DELETE /api/delete", "POST /api/push", "POST /api/create", "POST /api/copy", "POST /api/blobs/sha256:x", "GET /api/chat",
		"POST /v1/files", "GET /v1/files", "GET /v1/responses/resp_123", "DELETE /v1/models/x", "GET /v1/organization/api_keys", "POST /v1/fine_tuning/jobs",
		"POST /v1/messages/batches", "GET /v1/messages/batches/1/results", "POST /v1beta/cachedContents", "POST /v1beta/models/m:predict",
		"GET /v1/models/../files", "GET /v1/models/%2e%2e/files", "GET /v1/models/..%2ffiles", "GET /v1/models/a%0d%0ab", "POST /v1//chat/completions",
		"POST /openai/v1/../../admin", "PUT /v1/chat/completions", "OPTIONS /v1/chat/completions", "GET /metrics", "POST /", "GET /aibox/other", "POST /v1/chat/completions/",
		"POST /v1/chat/completions%00", "POST /anthropic/v1/chat/completions", "POST /gemini/api/chat",
	} {
		method, path, _ := strings.Cut(call, " ")
		if response := b.send(t, method, path, ""); response.StatusCode != 404 && response.StatusCode != 400 {
			t.Errorf("%s: %d", call, response.StatusCode)
		}
	}
	if response := b.send(t, "GET", "/v1/responses", "", "Upgrade", "websocket", "Connection", "Upgrade"); response.StatusCode != 404 {
		t.Errorf("a WebSocket got %d", response.StatusCode)
	}
}

func TestProbeAndOllamaClientsNeedNoKey(t *testing.T) {
	b := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, nil)
	for _, call := range []string{"GET /", "HEAD /", "GET /aibox/health"} {
		method, path, _ := strings.Cut(call, " ")
		if response := b.send(t, method, path, "", "Authorization", ""); response.StatusCode != 200 {
			t.Errorf("%s: %d", call, response.StatusCode)
		}
	}
}

func TestRealKeyNeverReachesTheAgent(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+realKey {
			t.Error("the upstream did not get the key")
		}
		w.Header().Set("X-Request-Id", "for "+realKey)
		w.Header().Set("Set-Cookie", "key="+realKey)
		w.Header().Set("Www-Authenticate", realKey)
		w.Header().Set("Openai-Organization", "org-of-the-user")
		w.Header().Set("Trailer", "X-Trail")
		w.WriteHeader(http.StatusUnauthorized)
		half := len(realKey) / 2
		for _, piece := range []string{`{"error":{"message":"Incorrect API key provided: ` + realKey[:half], realKey[half:], `. Also ` + realKey + realKey + " and " + realKey[:5], `"}}`} {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) // so that the pieces arrive apart
		}
		w.Header().Set("X-Trail", realKey)
	}, nil)
	response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`)
	body := text(t, response)
	event, _ := json.Marshal(b.last(t))
	for where, text := range map[string]string{"body": body, "headers": fmt.Sprint(response.Header), "trailers": fmt.Sprint(response.Trailer), "event": string(event)} {
		if strings.Contains(text, "CANARY") || strings.Contains(text, "org-of-the-user") {
			t.Errorf("%s: %s", where, text)
		}
	}
	if response.StatusCode != 401 || !strings.Contains(body, "Incorrect API key provided: ****") || !strings.HasSuffix(body, `and sk-re"}}`) {
		t.Errorf("the rest of the error did not pass: %d %s", response.StatusCode, body)
	}
}

func TestUpstreamErrorPassesUnchanged(t *testing.T) {
	const message = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Anthropic-Ratelimit-Tokens-Remaining", "5")
		w.WriteHeader(529)
		_, _ = io.WriteString(w, message)
	}, nil)
	response := b.send(t, "POST", "/v1/messages", `{"model":"m"}`)
	if body := text(t, response); response.StatusCode != 529 || body != message || response.Header.Get("Retry-After") != "7" || response.Header.Get("Anthropic-Ratelimit-Tokens-Remaining") != "5" {
		t.Errorf("%d %s %v", response.StatusCode, body, response.Header)
	}
}

func TestStreamedPieceArrivesBeforeTheNextIsSent(t *testing.T) {
	next := make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}, nil)
	response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m","stream":true}`)
	reader := bufio.NewReader(response.Body)
	for i := range 3 {
		line, err := reader.ReadString('\n')
		if want := fmt.Sprintf("data: {\"n\":%d}\n", i); err != nil || line != want {
			t.Fatalf("%q, %v", line, err)
		}
		_, _ = reader.ReadString('\n')
		next <- struct{}{}
	}
}

func TestUnreachableUpstreamIsExplained(t *testing.T) {
	b := newBench(t, echo, func(c *Config) {
		c.Upstream.Kind = modelserver.OllamaHost
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Upstream.URL = &url.URL{Scheme: "http", Host: listener.Addr().String()}
		listener.Close()
	})
	response := b.send(t, "POST", "/anthropic/v1/messages", `{"model":"m"}`)
	body := text(t, response)
	if response.StatusCode != 502 || !strings.Contains(body, "Ollama is not running on 127.0.0.1:") || !strings.Contains(body, "ollama serve") || !strings.Contains(body, `"type":"error"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if event := b.last(t); event.Status != 502 || !strings.Contains(event.Error, "not running") || event.Model != "" && event.Model != "m" {
		t.Errorf("%+v", event)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
	}, nil)
	if response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`); response.StatusCode != 502 || response.Header.Get("Location") != "" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}

func TestUnsupportedDialectIsExplained(t *testing.T) {
	b := newBench(t, echo, func(c *Config) { c.Upstream.Name, c.Upstream.Dialects = "openai", []schema.Dialect{schema.OpenAI} })
	response := b.send(t, "POST", "/anthropic/v1/messages", `{"model":"m"}`)
	if body := text(t, response); response.StatusCode != 404 || !strings.Contains(body, "openai does not speak the anthropic API") || !strings.Contains(body, "--inference") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

func TestDisconnectedAgentCancelsTheUpstreamRequest(t *testing.T) {
	gone := make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}, nil)
	response := b.send(t, "POST", "/v1/chat/completions", `{"model":"m"}`)
	response.Body.Close()
	<-gone
}

func TestScriptedUpstreamStreamsAndCanFail(t *testing.T) {
	next := make(chan struct{})
	b := newBench(t, echo, func(c *Config) {
		c.Upstream = modelserver.Server{Kind: modelserver.Scripted, Name: "scripted", Dialects: []schema.Dialect{schema.OpenAI}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte("panic")) {
				panic("script")
			}
			if r.Header.Get("Authorization") != "" {
				t.Error("the script saw a key")
			}
			fmt.Fprint(w, "data: one\n\n")
			w.(http.Flusher).Flush()
			<-next
			fmt.Fprint(w, "data: two\n\n")
		})}
	})
	response := b.send(t, "POST", "/v1/responses", `{"model":"m"}`)
	line, _ := bufio.NewReader(response.Body).ReadString('\n')
	if line != "data: one\n" {
		t.Errorf("%q", line)
	}
	close(next)
	failed := b.send(t, "POST", "/v1/responses", `{"model":"panic"}`)
	if body := text(t, failed); failed.StatusCode != 502 || !strings.Contains(body, "the built-in server failed") {
		t.Errorf("after a panic: %d %q", failed.StatusCode, body)
	}
}

func TestEventsHaveModelTokensAndStatusInEveryDialect(t *testing.T) {
	answers := map[string]string{
		"/v1/chat/completions":                   "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"usage\\\":{\\\"prompt_tokens\\\":999}}\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"total_tokens\":18}}\n\ndata: [DONE]\n\n",
		"/v1/responses":                          "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[{\"usage\":{\"input_tokens\":999}}],\"usage\":{\"input_tokens\":11,\"input_tokens_details\":{\"cached_tokens\":3},\"output_tokens\":7}}}\n\n",
		"/v1/messages":                           "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":4,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":7}}\n\n",
		"/v1beta/models/m:streamGenerateContent": "[{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"args\":{\"usageMetadata\":{\"promptTokenCount\":999}}}}]}}],\"usageMetadata\":{\"promptTokenCount\":11,\"candidatesTokenCount\":2}}\n,\n{\"usageMetadata\":{\"promptTokenCount\":11,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":3}}]",
		"/api/chat":                              "{\"message\":{\"content\":\"x\"},\"done\":false}\n{\"done\":true,\"prompt_eval_count\":11,\"eval_count\":7}\n",
	}
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}, nil)
	for path, want := range answers {
		b.events = nil
		response := b.send(t, "POST", path, `{"messages":[{"model":"not this"}], "model" : "m"}`)
		if body := text(t, response); body != want {
			t.Errorf("%s: %q", path, body)
		}
		if event := b.last(t); event.Model != "m" || event.InputTokens != 11 || event.OutputTokens != 7 || event.Status != 200 || event.Path != path {
			t.Errorf("%s: %+v", path, event)
		}
	}
}
