package scripted

import (
	"encoding/json"
	"errors"
	"net/http"
)

// ollamaChat is Ollama's own chat dialect.
// https://github.com/ollama/ollama/blob/main/docs/api.md
type ollamaChat struct{}

type ollamaRequest struct {
	Model    string
	Stream   *bool // nil means true
	Messages []chatMessage
	Tools    []chatTool
	Format   json.RawMessage // "json" or a schema
	Prompt   string          // of generate
	System   string          // of generate
}

func (ollamaChat) parse(_ *http.Request, body []byte) (Conversation, error) {
	request, c, err := readOllama(body)
	if err != nil {
		return Conversation{}, err
	}
	if len(request.Messages) == 0 {
		return Conversation{}, errNoMessages
	}
	c.readMessages(request.Messages)
	c.offer(request.Tools)
	return c, nil
}

func readOllama(body []byte) (ollamaRequest, Conversation, error) {
	var request ollamaRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return request, Conversation{}, err
	}
	c := newConversation(body)
	c.name(request.Model)
	c.Stream = request.Stream == nil || *request.Stream
	if format := string(request.Format); format != "" && format != `""` && format != "null" {
		shape := readSchema(request.Format)
		c.Schema = &shape
	}
	return request, c, nil
}

func (ollamaChat) answer(out *output, c Conversation, t Turn) {
	ollamaAnswer(out, c, t, func(text string, call *Call) map[string]any {
		message := map[string]any{"role": "assistant", "content": text}
		if call != nil {
			message["tool_calls"] = []any{map[string]any{
				"function": map[string]any{"name": call.Name, "arguments": call.Args},
			}}
		}
		return map[string]any{"message": message}
	})
}

// ollamaAnswer writes an answer whole or as lines of JSON. frame returns the part that
// differs between chat and generate.
func ollamaAnswer(out *output, c Conversation, t Turn, frame func(string, *Call) map[string]any) {
	fill := func(text string, call *Call, done bool) map[string]any {
		body := frame(text, call)
		body["model"], body["created_at"], body["done"] = c.Model, created.Format(wireTime), done
		if done {
			body["done_reason"] = "stop"
			body["prompt_eval_count"], body["eval_count"] = c.inputTokens(), t.outputTokens()
			for _, name := range []string{"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"} {
				body[name] = 1
			}
		}
		return body
	}
	if !c.Stream {
		out.whole(t, fill(t.Text, t.Call, true))
		return
	}
	out.begin("application/x-ndjson")
	send := func(body any) { out.raw(string(encode(body)) + "\n") }
	out.each(t.Text, func(text string) { send(fill(text, nil, false)) })
	if t.Call != nil && out.pause() {
		send(fill("", t.Call, false))
	}
	if out.ctx.Err() == nil {
		send(fill("", nil, true))
	}
}

func (ollamaChat) count(Conversation) any { return map[string]any{} }

func (ollamaChat) failure(_ int, message string) any { return map[string]any{"error": message} }

// ollamaGenerate is Ollama's dialect for a single prompt without tools.
type ollamaGenerate struct{ ollamaChat }

func (ollamaGenerate) parse(_ *http.Request, body []byte) (Conversation, error) {
	request, c, err := readOllama(body)
	if err != nil {
		return Conversation{}, err
	}
	if request.Prompt == "" {
		return Conversation{}, errors.New("it has no prompt")
	}
	c.addSystem(request.System)
	c.addPrompt(request.Prompt)
	return c, nil
}

func (ollamaGenerate) answer(out *output, c Conversation, t Turn) {
	ollamaAnswer(out, c, t, func(text string, _ *Call) map[string]any {
		return map[string]any{"response": text}
	})
}
