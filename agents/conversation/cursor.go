package conversation

import (
	"encoding/json"
	"strings"
)

// cursorReader reads the events of `cursor-agent --output-format stream-json`. Its tool
// calls are events of their own: an object with one field, named after the tool.
// https://cursor.com/docs/cli/reference/output-format
type cursorReader struct{ claudeReader }

type cursorCall struct {
	Type    string
	Subtype string
	CallID  string                     `json:"call_id"`
	Call    map[string]json.RawMessage `json:"tool_call"`
	Text    string
}

func (r cursorReader) read(data []byte) ([]Event, bool) {
	var e cursorCall
	decodeJSON(data, &e)
	switch e.Type {
	case "thinking":
		return one(e.Text != "", Event{Kind: Reasoning, Text: e.Text, Delta: e.Subtype == "delta"}), true
	case "tool_call":
		return e.events()
	default:
		return r.claudeReader.read(data)
	}
}

// events returns the call when it starts, and its result when it has completed.
func (e cursorCall) events() ([]Event, bool) {
	for name, value := range e.Call {
		fields := object(value)
		tool, args := strings.TrimSuffix(name, "ToolCall"), fields["args"]
		if name == "function" {
			tool, args = firstString(fields, "name"), json.RawMessage(firstString(fields, "arguments"))
		}
		if !json.Valid(args) {
			args = nil
		}
		if fields == nil || tool == "" {
			continue
		}
		if e.Subtype == "started" {
			return []Event{newCall(e.CallID, tool, args)}, true
		}
		result := Event{Kind: Result, ID: e.CallID}
		outcome := object(fields["result"])
		if value, ok := firstOf(outcome, "success"); ok {
			result.Text = textOf(value)
			var code *int
			if json.Unmarshal(object(value)["exitCode"], &code) == nil {
				result.ExitCode = code
			}
		} else if value, ok := firstOf(outcome, "error", "failure", "rejected"); ok {
			result.Text, result.Failed = textOf(value), true
		}
		return []Event{result}, true
	}
	return nil, false
}
