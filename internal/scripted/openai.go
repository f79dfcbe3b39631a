package scripted

import (
	"encoding/json"
	"errors"
	"net/http"
)

// openAIChat is OpenAI's Chat Completions dialect.
// https://platform.openai.com/docs/api-reference/chat
type openAIChat struct{}

type chatRequest struct {
	Model         string
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages       []chatMessage
	Tools          []chatTool
	ResponseFormat *struct {
		Type       string
		JSONSchema struct {
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role    string
	Content json.RawMessage
}

type chatTool struct {
	Function struct {
		Name       string
		Parameters json.RawMessage
	}
}

// errNoMessages reports a request without messages.
var errNoMessages = errors.New("it has no messages")

func (openAIChat) parse(_ *http.Request, body []byte) (Conversation, error) {
	var request chatRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, err
	}
	if len(request.Messages) == 0 {
		return Conversation{}, errNoMessages
	}
	c := newConversation(body)
	c.name(request.Model)
	c.Stream, c.Usage = request.Stream, request.StreamOptions.IncludeUsage
	c.readMessages(request.Messages)
	c.offer(request.Tools)
	if format := request.ResponseFormat; format != nil && format.Type != "text" {
		shape := readSchema(format.JSONSchema.Schema)
		c.Schema = &shape
	}
	return c, nil
}

// name sets the requested model, if there is one.
func (c *Conversation) name(model string) {
	if model != "" {
		c.Model = model
	}
}

func (c *Conversation) readMessages(messages []chatMessage) {
	for _, message := range messages {
		text := textOf(message.Content)
		switch message.Role {
		case "system", "developer":
			c.addSystem(text)
		case "user":
			c.addPrompt(text)
		case "tool", "function":
			c.addResult(text)
		}
	}
}

func (c *Conversation) offer(tools []chatTool) {
	for _, tool := range tools {
		c.Tools = append(c.Tools, Tool{Name: tool.Function.Name, Schema: readSchema(tool.Function.Parameters)})
	}
}

func (openAIChat) answer(out *output, c Conversation, t Turn) {
	if !c.Stream {
		message := map[string]any{"role": "assistant", "content": t.Text}
		if t.Call != nil {
			message["tool_calls"] = []any{chatCall(c, t.Call, string(t.Call.Args))}
		}
		choice := map[string]any{"index": 0, "message": message, "finish_reason": chatEnd(t)}
		body := chatFrame(c, "chat.completion", choice)
		body["usage"] = chatUsage(c, t)
		out.whole(t, body)
		return
	}
	out.begin("text/event-stream")
	send := func(delta map[string]any, end any) {
		choice := map[string]any{"index": 0, "delta": delta, "finish_reason": end}
		out.event("", chatFrame(c, "chat.completion.chunk", choice))
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	out.each(t.Text, func(text string) { send(map[string]any{"content": text}, nil) })
	if t.Call != nil {
		call := chatCall(c, t.Call, "")
		call["index"] = 0
		send(map[string]any{"tool_calls": []any{call}}, nil)
		out.each(string(t.Call.Args), func(args string) {
			more := map[string]any{"index": 0, "function": map[string]any{"arguments": args}}
			send(map[string]any{"tool_calls": []any{more}}, nil)
		})
	}
	if out.ctx.Err() != nil {
		return
	}
	send(map[string]any{}, chatEnd(t))
	if c.Usage {
		last := chatFrame(c, "chat.completion.chunk")
		last["usage"] = chatUsage(c, t)
		out.event("", last)
	}
	out.raw("data: [DONE]\n\n")
}

func chatFrame(c Conversation, object string, choices ...any) map[string]any {
	if choices == nil {
		choices = []any{}
	}
	return map[string]any{
		"id": c.id("chatcmpl-"), "object": object, "created": created.Unix(), "model": c.Model,
		"system_fingerprint": "aibox", "choices": choices,
	}
}

func chatCall(c Conversation, call *Call, args string) map[string]any {
	return map[string]any{
		"id": c.id("call_"), "type": "function",
		"function": map[string]any{"name": call.Name, "arguments": args},
	}
}

func chatEnd(t Turn) string {
	if t.Call != nil {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(c Conversation, t Turn) map[string]any {
	in, out := c.inputTokens(), t.outputTokens()
	return map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

func (openAIChat) count(c Conversation) any {
	return map[string]any{"object": "response.input_tokens", "input_tokens": c.inputTokens()}
}

// failure returns OpenAI's error object, which both of its dialects use.
func (openAIChat) failure(status int, message string) any {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}}
}
