package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// The paths of requests for an answer.
const (
	pathChat      = "/openai/v1/chat/completions"
	pathText      = "/openai/v1/completions"
	pathResponses = "/openai/v1/responses"
	pathCompact   = "/openai/v1/responses/compact"
	pathMessages  = "/anthropic/v1/messages"
	pathGemini    = "/gemini/v1beta/models/m:generateContent"
	pathStream    = "/gemini/v1beta/models/m:streamGenerateContent?alt=sse"
	pathOllama    = "/ollama/api/chat"
	pathGenerate  = "/ollama/api/generate"
)

// events returns a stream of server-sent events.
func events(data ...string) string {
	var stream strings.Builder
	for _, event := range data {
		stream.WriteString("data: " + event + "\n\n")
	}
	return stream.String()
}

// A status of 200 is not enough. Only text, thinking, a tool call or a refusal counts, in
// the form of the called API.
func TestAnswersAreRecognizedInEveryAPI(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		want       Outcome
		why        string // in Event.Error
	}{
		"chat, text":                {pathChat, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, Answered, ""},
		"chat, parts":               {pathChat, `{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}]}`, Answered, ""},
		"chat, a tool call":         {pathChat, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, Answered, ""},
		"chat, thinking":            {pathChat, events(`{"choices":[{"delta":{"role":"assistant","reasoning_content":"hm"}}]}`, `[DONE]`), Answered, ""},
		"chat, a refusal":           {pathChat, events(`{"choices":[{"delta":{"refusal":"no"}}]}`), Answered, ""},
		"chat, filtered":            {pathChat, `{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}]}`, Answered, ""},
		"chat, a stream":            {pathChat, events(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"delta":{"content":"h"}}]}`, `[DONE]`), Answered, ""},
		"chat, nothing":             {pathChat, ``, NoAnswer, "it sent nothing"},
		"chat, white space":         {pathChat, " \n\n", NoAnswer, "it sent nothing"},
		"chat, {}":                  {pathChat, `{}`, NoAnswer, "its JSON holds nothing that the openai API has for one"},
		"chat, null":                {pathChat, `null`, NoAnswer, "it sent “null”"},
		"chat, no choices":          {pathChat, `{"id":"chatcmpl-1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}`, NoAnswer, "its JSON"},
		"chat, a page":              {pathChat, "<!doctype html>\n<html><head><title>Welcome\nto nginx!</title></head><script>x={\"choices\":1}</script></html>", NoAnswer, "it sent a web page, “Welcome to nginx!”"},
		"chat, a page without name": {pathChat, "<html>", NoAnswer, "it sent a web page"},
		"chat, text alone":          {pathChat, "OK", NoAnswer, "it sent “OK”"},
		"chat, a role alone":        {pathChat, events(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`), NoAnswer, "its stream holds nothing"},
		"chat, an end alone":        {pathChat, events(`[DONE]`), NoAnswer, "its stream"},
		"chat, pings alone":         {pathChat, ": PROCESSING\n\n: PROCESSING\n\n", NoAnswer, "it sent “: PROCESSING : PROCESSING”"},
		"chat, silence of the model": {pathChat, events(`{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`, `[DONE]`), Blank, ""},
		"chat, as Ollama":    {pathChat, `{"model":"m","message":{"role":"assistant","content":"hi"},"done":true}`, NoAnswer, "its JSON"},
		"chat, as Anthropic": {pathChat, `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`, NoAnswer, "its JSON"},
		"chat, cut JSON":     {pathChat, `{"choices":[{"message":{"role":"assist`, NoAnswer, "its JSON"},
		"text":               {pathText, `{"choices":[{"text":"hi","finish_reason":"stop"}]}`, Answered, ""},
		"text, blank":        {pathText, `{"choices":[{"text":"","finish_reason":"length"}]}`, Blank, ""},

		"responses, text":        {pathResponses, `{"status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`, Answered, ""},
		"responses, a tool call": {pathResponses, `{"status":"completed","output":[{"type":"function_call","name":"ls","arguments":"{}"}]}`, Answered, ""},
		"responses, a refusal":   {pathResponses, `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}`, Answered, ""},
		"responses, filtered":    {pathResponses, `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, Answered, ""},
		"responses, a stream":    {pathResponses, events(`{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`, `{"type":"response.output_text.delta","delta":"h"}`), Answered, ""},
		"responses, an item":     {pathResponses, events(`{"type":"response.output_item.done","item":{"type":"custom_tool_call","name":"apply_patch"}}`), Answered, ""},
		"responses, at the end":  {pathResponses, events(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","summary":[]}]}}`), Answered, ""},
		"responses, an empty message": {pathResponses, events(`{"type":"response.output_item.added","item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
			`{"type":"response.completed","response":{"status":"completed","output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":""}]}]}}`), Blank, ""},
		"responses, begun only": {pathResponses, events(`{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`, `{"type":"response.in_progress","response":{"status":"in_progress"}}`), NoAnswer, "its stream"},
		"responses, {}":         {pathResponses, `{}`, NoAnswer, "its JSON"},
		"responses, as chat":    {pathResponses, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, NoAnswer, "its JSON"},
		"compact":               {pathCompact, `{"object":"response.compaction","output":[{"type":"compaction","encrypted_content":"x"}]}`, Answered, ""},

		"messages, text":        {pathMessages, `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`, Answered, ""},
		"messages, a tool call": {pathMessages, events(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}`), Answered, ""},
		"messages, thinking":    {pathMessages, events(`{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}`, `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`), Answered, ""},
		"messages, a refusal":   {pathMessages, events(`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null}}`), Answered, ""},
		"messages, blank":       {pathMessages, `{"type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn"}`, Blank, ""},
		"messages, a blank stream": {pathMessages, events(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null}}`,
			`{"type":"ping"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":"x"}}`, `{"type":"message_stop"}`), Blank, ""},
		"messages, begun only": {pathMessages, events(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`, `{"type":"ping"}`), NoAnswer, "its stream holds nothing that the anthropic API"},
		"messages, as chat":    {pathMessages, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, NoAnswer, "its JSON"},

		"gemini, text":          {pathGemini, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`, Answered, ""},
		"gemini, a list":        {pathGemini, `[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls","args":{}}}]}}]}]`, Answered, ""},
		"gemini, refused":       {pathGemini, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, Answered, ""},
		"gemini, held back":     {pathStream, events(`{"candidates":[{"finishReason":"SAFETY","index":0}]}`), Answered, ""},
		"gemini, blank":         {pathStream, events(`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9}}`), Blank, ""},
		"gemini, no candidates": {pathGemini, `{"candidates":[],"usageMetadata":{"promptTokenCount":9}}`, NoAnswer, "its JSON"},

		"ollama, text":      {pathOllama, `{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}`, Answered, ""},
		"ollama, thinking":  {pathOllama, `{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`, Answered, ""},
		"ollama, a tool":    {pathOllama, `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"ls","arguments":{}}}]}}`, Answered, ""},
		"ollama, loaded":    {pathOllama, `{"model":"m","message":{"role":"assistant","content":""},"done_reason":"load","done":true}`, Answered, ""},
		"ollama, blank":     {pathOllama, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":1}`, Blank, ""},
		"ollama, {}":        {pathOllama, `{}`, NoAnswer, "its JSON holds nothing that the ollama API"},
		"generate":          {pathGenerate, `{"response":"hi","done":true}`, Answered, ""},
		"generate, nothing": {pathGenerate, `{"response":"","done":true}`, NoAnswer, "its JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int64
			b := newBench(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.body) },
				func(c *Config) { c.OnAnswer = func() { received.Add(1) } })
			if body := text(t, b.send(t, "POST", test.path, `{"model":"m"}`)); body != test.body {
				t.Errorf("the agent got %q", body)
			}
			event := b.last(t)
			if event.Outcome != test.want || event.Status != 200 || !strings.HasPrefix(event.Error, test.why) || (event.Error == "") != (test.why == "") {
				t.Errorf("%v: %+v", event.Outcome, event)
			}
			if (received.Load() > 0) != (test.want == Answered) {
				t.Errorf("received %d pieces", received.Load())
			}
		})
	}
}

// Requests about models, token counts and embeddings do not affect the outcome of answers.
func TestOtherRequestsAreNotClassifiedByTheirAnswer(t *testing.T) {
	b := newBench(t, func(http.ResponseWriter, *http.Request) {}, func(c *Config) { c.OnAnswer = func() { t.Error("received an answer") } })
	for _, request := range []string{
		"GET /openai/v1/models", "POST /openai/v1/embeddings", "POST /openai/v1/responses/input_tokens", "POST /anthropic/v1/messages/count_tokens",
		"POST /gemini/v1beta/models/m:countTokens", "POST /ollama/api/show", "POST /ollama/api/embed",
	} {
		b.events = nil
		method, path, _ := strings.Cut(request, " ")
		_ = text(t, b.send(t, method, path, `{"model":"m"}`))
		if event := b.last(t); event.Outcome != Answered || event.Error != "" || event.Uncounted {
			t.Errorf("%s: %+v", request, event)
		}
	}
}

// A page may repeat the key that it received, and contain control sequences.
func TestServerMessageIsSafeAndWithoutTheKey(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<title>\x1b[31m for "+realKey+"</title>")
	}, nil)
	_ = text(t, b.send(t, "POST", pathChat, `{"model":"m"}`))
	if event := b.last(t); event.Outcome != NoAnswer || strings.ContainsAny(event.Error, "\x1b") || strings.Contains(event.Error, "CANARY") || !strings.Contains(event.Error, "*****") {
		t.Errorf("%+v", event)
	}
}

// A server that reports no usage has used an unknown number of tokens.
func TestUnreportedTokensAreUnknown(t *testing.T) {
	for body, want := range map[string]bool{
		`{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`: false,
		`{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`: false,
		`{"choices":[{"message":{"content":"hi"}}],"usage":null}`:                                      true,
		`{"choices":[{"message":{"content":"hi"}}]}`:                                                   true,
		`{"error":"gone"}`: false,
		`{}`:               false,
	} {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, nil)
		_ = text(t, b.send(t, "POST", pathChat, `{"model":"m"}`))
		if event := b.last(t); event.Uncounted != want {
			t.Errorf("%s: %+v", body, event)
		}
	}
}

// Each piece of a slow stream is reported, not only its end.
func TestUsageUpdatesWithEveryPiece(t *testing.T) {
	received, next := make(chan struct{}, 8), make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, ": ping\n\n"+events(`{"choices":[{"delta":{"content":"a"}}]}`))
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	}, func(c *Config) { c.OnAnswer = func() { received <- struct{}{} } })
	response := b.send(t, "POST", pathChat, `{"model":"m"}`)
	for range 3 {
		<-received
		next <- struct{}{}
	}
	_ = text(t, response)
}
