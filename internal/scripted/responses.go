package scripted

import (
	"encoding/json"
	"errors"
	"net/http"
)

// openAIResponses is OpenAI's Responses dialect.
// https://platform.openai.com/docs/api-reference/responses
type openAIResponses struct{ openAIChat }

type responsesRequest struct {
	Model        string
	Stream       bool
	Instructions string
	Input        json.RawMessage // a text, or a list of items
	Tools        []responsesTool
	Text         struct {
		Format *struct {
			Type   string
			Schema json.RawMessage
		}
	}
}

type responsesItem struct {
	Type    string
	Role    string
	Content json.RawMessage
	Output  json.RawMessage
}

// responsesTool is a function, or a namespace of functions. Codex offers both, and also
// tools without a name, which the server would run itself.
type responsesTool struct {
	Type       string
	Name       string
	Parameters json.RawMessage
	Tools      []responsesTool
}

func (openAIResponses) parse(_ *http.Request, body []byte) (Conversation, error) {
	var request responsesRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return Conversation{}, err
	}
	c := newConversation(body)
	c.name(request.Model)
	c.Stream = request.Stream
	c.addSystem(request.Instructions)
	if err := c.readItems(request.Input); err != nil {
		return Conversation{}, err
	}
	c.offerItems("", request.Tools)
	if format := request.Text.Format; format != nil && format.Type != "text" {
		shape := readSchema(format.Schema)
		c.Schema = &shape
	}
	return c, nil
}

func (c *Conversation) readItems(input json.RawMessage) error {
	var text string
	if json.Unmarshal(input, &text) == nil && text != "" {
		c.addPrompt(text)
		return nil
	}
	var items []responsesItem
	if err := json.Unmarshal(input, &items); err != nil {
		return errors.New("its input is neither a text nor a list of items")
	}
	for _, item := range items {
		switch {
		case item.Type == "function_call_output", item.Type == "custom_tool_call_output",
			item.Type == "local_shell_call_output":
			c.addResult(textOf(item.Output))
		case item.Role == "system", item.Role == "developer":
			c.addSystem(textOf(item.Content))
		case item.Role == "user":
			c.addPrompt(textOf(item.Content))
		}
	}
	if len(items) == 0 {
		return errNoMessages
	}
	return nil
}

func (c *Conversation) offerItems(namespace string, tools []responsesTool) {
	for _, tool := range tools {
		switch {
		case tool.Type == "namespace" && namespace == "":
			c.offerItems(tool.Name, tool.Tools)
		case tool.Type == "function" && tool.Name != "":
			c.Tools = append(c.Tools, Tool{Name: tool.Name, Namespace: namespace, Schema: readSchema(tool.Parameters)})
		}
	}
}

func (openAIResponses) answer(out *output, c Conversation, t Turn) {
	items := responsesItems(c, t)
	if !c.Stream {
		out.whole(t, responsesFrame(c, t, "completed", items))
		return
	}
	stream := responsesStream{out: out}
	out.begin("text/event-stream")
	stream.send("response.created", "response", responsesFrame(c, t, "in_progress", nil))
	stream.send("response.in_progress", "response", responsesFrame(c, t, "in_progress", nil))
	for index, item := range items {
		stream.item(index, item, t)
	}
	if out.ctx.Err() == nil {
		stream.send("response.completed", "response", responsesFrame(c, t, "completed", items))
	}
}

// responsesItems returns the finished items of an answer.
func responsesItems(c Conversation, t Turn) []map[string]any {
	var items []map[string]any
	if t.Text != "" {
		items = append(items, map[string]any{
			"type": "message", "id": c.id("msg_"), "status": "completed", "role": "assistant",
			"content": []any{textPart(t.Text)},
		})
	}
	if t.Call != nil {
		item := map[string]any{
			"type": "function_call", "id": c.id("fc_"), "call_id": c.id("call_"), "status": "completed",
			"name": t.Call.Name, "arguments": string(t.Call.Args),
		}
		if t.Call.Namespace != "" {
			item["namespace"] = t.Call.Namespace
		}
		items = append(items, item)
	}
	return items
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
}

func responsesFrame(c Conversation, t Turn, status string, items []map[string]any) map[string]any {
	if items == nil {
		items = []map[string]any{}
	}
	frame := map[string]any{
		"id": c.id("resp_"), "object": "response", "created_at": created.Unix(), "status": status,
		"model": c.Model, "output": items, "error": nil, "incomplete_details": nil,
		"parallel_tool_calls": false, "tools": []any{}, "tool_choice": "auto",
	}
	if status == "completed" {
		in, out := c.inputTokens(), t.outputTokens()
		frame["usage"] = map[string]any{
			"input_tokens": in, "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": out, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
			"total_tokens": in + out,
		}
	}
	return frame
}

// responsesStream numbers the events of a stream.
type responsesStream struct {
	out    *output
	number int
}

// send sends an event with pairs of names and values.
func (s *responsesStream) send(kind string, pairs ...any) {
	event := map[string]any{"type": kind, "sequence_number": s.number}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		event[name] = pairs[i+1]
	}
	s.number++
	s.out.event(kind, event)
}

// item streams one whole item.
func (s *responsesStream) item(index int, item map[string]any, t Turn) {
	begun := map[string]any{}
	for name, value := range item {
		begun[name] = value
	}
	begun["status"] = "in_progress"
	where := []any{"item_id", item["id"], "output_index", index}
	if item["type"] == "message" {
		begun["content"] = []any{}
		s.send("response.output_item.added", "output_index", index, "item", begun)
		where = append(where, "content_index", 0)
		s.send("response.content_part.added", append(where, "part", textPart(""))...)
		s.out.each(t.Text, func(text string) {
			s.send("response.output_text.delta", append(where, "delta", text, "logprobs", []any{})...)
		})
		s.send("response.output_text.done", append(where, "text", t.Text, "logprobs", []any{})...)
		s.send("response.content_part.done", append(where, "part", textPart(t.Text))...)
	} else {
		begun["arguments"] = ""
		s.send("response.output_item.added", "output_index", index, "item", begun)
		s.out.each(string(t.Call.Args), func(args string) {
			s.send("response.function_call_arguments.delta", append(where, "delta", args)...)
		})
		s.send("response.function_call_arguments.done", append(where, "arguments", string(t.Call.Args))...)
	}
	s.send("response.output_item.done", "output_index", index, "item", item)
}
