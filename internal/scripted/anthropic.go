package scripted

import (
	"encoding/json"
	"net/http"
)

// anthropic is Anthropic's Messages dialect.
// https://docs.anthropic.com/en/api/messages
type anthropic struct{}

type anthropicRequest struct {
	Model    string
	Stream   bool
	System   json.RawMessage
	Messages []chatMessage
	Tools    []struct {
		Name        string
		InputSchema json.RawMessage `json:"input_schema"`
	}
	OutputConfig struct {
		Format *struct {
			Schema json.RawMessage
		}
	} `json:"output_config"`
	OutputFormat *struct {
		Schema json.RawMessage
	} `json:"output_format"`
}

type anthropicBlock struct {
	Type    string
	Text    string
	Content json.RawMessage
}

func (anthropic) parse(_ *http.Request, body []byte) (Conversation, error) {
	var request anthropicRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, err
	}
	if len(request.Messages) == 0 {
		return Conversation{}, errNoMessages
	}
	c := newConversation(body)
	c.name(request.Model)
	c.Stream = request.Stream
	c.addSystem(textOf(request.System))
	for _, message := range request.Messages {
		switch message.Role {
		case "user":
			c.readBlocks(message.Content)
		case "system":
			c.addSystem(textOf(message.Content))
		}
	}
	for _, tool := range request.Tools {
		c.Tools = append(c.Tools, Tool{Name: tool.Name, Schema: readSchema(tool.InputSchema)})
	}
	format := request.OutputFormat
	if format == nil {
		format = request.OutputConfig.Format
	}
	if format != nil {
		shape := readSchema(format.Schema)
		c.Schema = &shape
	}
	return c, nil
}

// readBlocks reads the content of a user message: a text, or blocks of text and tool
// results. Text next to results is added by the agent itself.
func (c *Conversation) readBlocks(content json.RawMessage) {
	var blocks []anthropicBlock
	if json.Unmarshal(content, &blocks) != nil {
		c.addPrompt(textOf(content))
		return
	}
	results := 0
	for _, block := range blocks {
		if block.Type == "tool_result" {
			c.addResult(textOf(block.Content))
			results++
		}
	}
	if results > 0 {
		return
	}
	for _, block := range blocks {
		if block.Type == "text" {
			c.addPrompt(block.Text)
		}
	}
}

func (anthropic) answer(out *output, c Conversation, t Turn) {
	blocks := anthropicBlocks(c, t)
	if !c.Stream {
		message := anthropicMessage(c, blocks)
		message["stop_reason"] = anthropicEnd(t)
		message["usage"] = map[string]any{"input_tokens": c.inputTokens(), "output_tokens": t.outputTokens()}
		out.whole(t, message)
		return
	}
	out.begin("text/event-stream")
	send := func(kind string, event map[string]any) {
		event["type"] = kind
		out.event(kind, event)
	}
	start := anthropicMessage(c, []map[string]any{})
	start["usage"] = map[string]any{"input_tokens": c.inputTokens(), "output_tokens": 1}
	send("message_start", map[string]any{"message": start})
	for index, block := range blocks {
		anthropicStream(out, send, index, block, t)
	}
	if out.ctx.Err() != nil {
		return
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": anthropicEnd(t), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": t.outputTokens()},
	})
	send("message_stop", map[string]any{})
}

// anthropicStream streams one whole block.
func anthropicStream(out *output, send func(string, map[string]any), index int, block map[string]any, t Turn) {
	begun := map[string]any{"type": "text", "text": ""}
	text, kind, key := t.Text, "text_delta", "text"
	if block["type"] == "tool_use" {
		begun = map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}}
		text, kind, key = string(t.Call.Args), "input_json_delta", "partial_json"
	}
	send("content_block_start", map[string]any{"index": index, "content_block": begun})
	out.each(text, func(part string) {
		send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, key: part}})
	})
	send("content_block_stop", map[string]any{"index": index})
}

func anthropicBlocks(c Conversation, t Turn) []map[string]any {
	blocks := []map[string]any{}
	if t.Text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": t.Text})
	}
	if t.Call != nil {
		blocks = append(blocks, map[string]any{
			"type": "tool_use", "id": c.id("toolu_"), "name": t.Call.Name, "input": t.Call.Args,
		})
	}
	return blocks
}

func anthropicMessage(c Conversation, blocks []map[string]any) map[string]any {
	return map[string]any{
		"id": c.id("msg_"), "type": "message", "role": "assistant", "model": c.Model,
		"content": blocks, "stop_reason": nil, "stop_sequence": nil,
	}
}

func anthropicEnd(t Turn) string {
	if t.Call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (anthropic) count(c Conversation) any {
	return map[string]any{"input_tokens": c.inputTokens()}
}

// anthropicErrors are the types of Anthropic's errors.
// https://docs.anthropic.com/en/api/errors
var anthropicErrors = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	529:                              "overloaded_error",
}

func (anthropic) failure(status int, message string) any {
	kind, ok := anthropicErrors[status]
	switch {
	case ok:
	case status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}
