package conversation

import (
	"encoding/json"
)

// geminiReader reads the events of `gemini --output-format stream-json`.
// https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/headless.md
type geminiReader struct{}

type geminiEvent struct {
	Type       string
	Model      string
	Role       string
	Content    json.RawMessage
	Delta      bool
	Tool       string `json:"tool_name"`
	ID         string `json:"tool_id"`
	Parameters json.RawMessage
	Status     string
	Output     json.RawMessage
	Error      json.RawMessage
	Severity   string
	Message    string
	Stats      struct {
		Input    int   `json:"input_tokens"`
		Output   int   `json:"output_tokens"`
		Cached   int   `json:"cached"`
		Duration int64 `json:"duration_ms"`
	}
}

func (geminiReader) read(data []byte) ([]Event, bool) {
	var e geminiEvent
	decodeJSON(data, &e)
	switch e.Type {
	case "init":
		return []Event{{Kind: Start, Model: e.Model}}, true
	case "message":
		role := Agent
		if e.Role == "user" {
			role = User
		}
		return []Event{{Kind: Message, Role: role, Text: textOf(e.Content), Delta: e.Delta}}, true
	case "tool_use":
		return []Event{newCall(e.ID, e.Tool, e.Parameters)}, true
	case "tool_result":
		result := Event{Kind: Result, ID: e.ID, Text: textOf(e.Output), Failed: e.Status == "error"}
		if result.Text == "" {
			result.Text = textOf(e.Error)
		}
		return []Event{result}, true
	case "error":
		kind := Failure
		if e.Severity == "warning" {
			kind = Warning
		}
		return []Event{{Kind: kind, Text: e.Message}}, true
	case "result":
		return e.end(), true
	default:
		return nil, false
	}
}

// end reads the last event.
func (e geminiEvent) end() []Event {
	s := e.Stats
	events := []Event{{Kind: Used, Usage: &Usage{Input: s.Input, Output: s.Output, Cached: s.Cached, Millis: s.Duration}}}
	failed := e.Status == "error"
	if text := textOf(e.Error); text != "" {
		events, failed = append(events, Event{Kind: Failure, Text: text}), true
	}
	return append(events, Event{Kind: End, Failed: failed})
}
