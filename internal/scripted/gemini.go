package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is Google's Gemini dialect, as AI Studio and Vertex serve it.
// https://ai.google.dev/api/generate-content
type gemini struct{}

type geminiRequest struct {
	Contents          []geminiContent
	SystemInstruction geminiContent
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string
			Parameters           json.RawMessage
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		}
	}
	GenerationConfig struct {
		ResponseMimeType   string
		ResponseSchema     json.RawMessage
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	}
	// GenerateContentRequest wraps the rest when tokens are counted.
	GenerateContentRequest *geminiRequest
}

type geminiContent struct {
	Role  string
	Parts []struct {
		Text             string
		FunctionResponse *struct {
			Response json.RawMessage
		}
	}
}

func (gemini) parse(r *http.Request, body []byte) (Conversation, error) {
	var request geminiRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, err
	}
	if request.GenerateContentRequest != nil {
		request = *request.GenerateContentRequest
	}
	if len(request.Contents) == 0 {
		return Conversation{}, errNoMessages
	}
	c := newConversation(body)
	_, model, _ := strings.Cut(r.URL.Path, "/models/")
	// The method follows the last colon: names of models can have colons, too.
	at := max(strings.LastIndexByte(model, ':'), 0)
	model, method := model[:at], strings.TrimPrefix(model[at:], ":")
	c.name(model)
	c.Stream = strings.HasPrefix(method, "stream")
	c.Usage = r.URL.Query().Get("alt") == "sse"
	for _, part := range request.SystemInstruction.Parts {
		c.addSystem(part.Text)
	}
	for _, content := range request.Contents {
		if content.Role != "model" {
			c.readParts(content)
		}
	}
	c.offerDeclarations(request)
	if config := request.GenerationConfig; config.ResponseMimeType == "application/json" {
		shape := readSchema(either(config.ResponseJSONSchema, config.ResponseSchema))
		c.Schema = &shape
	}
	return c, nil
}

func (c *Conversation) readParts(content geminiContent) {
	results := 0
	for _, part := range content.Parts {
		if part.FunctionResponse != nil {
			c.addResult(textOf(part.FunctionResponse.Response))
			results++
		}
	}
	for _, part := range content.Parts {
		if results == 0 {
			c.addPrompt(part.Text)
		}
	}
}

func (c *Conversation) offerDeclarations(request geminiRequest) {
	for _, group := range request.Tools {
		for _, tool := range group.FunctionDeclarations {
			shape := readSchema(either(tool.ParametersJSONSchema, tool.Parameters))
			c.Tools = append(c.Tools, Tool{Name: tool.Name, Schema: shape})
		}
	}
}

func either(first, second json.RawMessage) json.RawMessage {
	if len(first) > 0 {
		return first
	}
	return second
}

func (gemini) answer(out *output, c Conversation, t Turn) {
	if !c.Stream {
		out.whole(t, geminiFrame(c, t, geminiParts(c, t), true))
		return
	}
	frames := out.geminiFrames(c)
	out.each(t.Text, func(text string) {
		frames.send(geminiFrame(c, t, []any{map[string]any{"text": text}}, false))
	})
	var last []any
	if t.Call != nil {
		last = geminiParts(c, Turn{Call: t.Call})
		out.pause()
	} else {
		last = []any{map[string]any{"text": ""}}
	}
	if out.ctx.Err() == nil {
		frames.send(geminiFrame(c, t, last, true))
		frames.end()
	}
}

// geminiFrames streams frames as events if the client asked for alt=sse, else as the
// elements of one JSON list.
type geminiFrames struct {
	out  *output
	sse  bool
	sent bool
}

func (o *output) geminiFrames(c Conversation) *geminiFrames {
	if c.Usage {
		o.begin("text/event-stream")
	} else {
		o.begin("application/json")
	}
	return &geminiFrames{out: o, sse: c.Usage}
}

func (f *geminiFrames) send(frame any) {
	switch {
	case f.sse:
		f.out.event("", frame)
	case f.sent:
		f.out.raw(",\n" + string(encode(frame)))
	default:
		f.out.raw("[" + string(encode(frame)))
	}
	f.sent = true
}

func (f *geminiFrames) end() {
	if !f.sse {
		f.out.raw("]\n")
	}
}

func geminiParts(c Conversation, t Turn) []any {
	var parts []any
	if t.Text != "" {
		parts = append(parts, map[string]any{"text": t.Text})
	}
	if t.Call != nil {
		parts = append(parts, map[string]any{"functionCall": map[string]any{
			"id": c.id("call_"), "name": t.Call.Name, "args": t.Call.Args,
		}})
	}
	return parts
}

func geminiFrame(c Conversation, t Turn, parts []any, last bool) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	frame := map[string]any{
		"candidates": []any{candidate}, "modelVersion": c.Model, "responseId": c.id(""),
	}
	if last {
		in, out := c.inputTokens(), t.outputTokens()
		candidate["finishReason"] = "STOP"
		frame["usageMetadata"] = map[string]any{
			"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in + out,
		}
	}
	return frame
}

func (gemini) count(c Conversation) any {
	return map[string]any{"totalTokens": c.inputTokens()}
}

// geminiStatus are Google's names of HTTP statuses.
// https://cloud.google.com/apis/design/errors
var geminiStatus = map[int]string{
	http.StatusBadRequest:         "INVALID_ARGUMENT",
	http.StatusUnauthorized:       "UNAUTHENTICATED",
	http.StatusForbidden:          "PERMISSION_DENIED",
	http.StatusNotFound:           "NOT_FOUND",
	http.StatusTooManyRequests:    "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable: "UNAVAILABLE",
	http.StatusGatewayTimeout:     "DEADLINE_EXCEEDED",
}

func (gemini) failure(status int, message string) any {
	name, ok := geminiStatus[status]
	switch {
	case ok:
	case status >= 500:
		name = "INTERNAL"
	default:
		name = "INVALID_ARGUMENT"
	}
	return map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}}
}
