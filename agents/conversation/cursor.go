package conversation

import (
	"encoding/json"
	"strings"
)

// cursorReader reads the events of `cursor-agent --output-format stream-json`. Its tool
// calls are separate events: an object with one field, named after the tool.
// https://cursor.com/docs/cli/reference/output-format
//
// With --stream-partial-output it prints a message in pieces, which have a time. Then it may
// repeat the whole message, before a tool call with the id of the model's call, and at the
// end without a time. The documentation does not name that option's events.
// https://forum.cursor.com/t/156289
type cursorReader struct {
	claudeReader
	message, turn strings.Builder // the text of the pieces since the last whole message, and since the last result
}

// maxRepeated bounds what a cursorReader remembers to recognize a repeated message, in bytes.
const maxRepeated = maxLine

type cursorCall struct {
	Type    string
	Subtype string
	CallID  string                     `json:"call_id"`
	Call    map[string]json.RawMessage `json:"tool_call"`
	Text    string

	// In an event of type assistant.
	Time      json.RawMessage `json:"timestamp_ms"`
	ModelCall string          `json:"model_call_id"`
}

func (r *cursorReader) read(data []byte) ([]Event, bool) {
	var e cursorCall
	decodeJSON(data, &e)
	switch e.Type {
	case "assistant":
		events, known := r.claudeReader.read(data)
		return r.withoutRepeats(e, events), known
	case "result":
		r.message.Reset()
		r.turn.Reset()
		return r.claudeReader.read(data)
	case "thinking":
		return one(e.Text != "", Event{Kind: Reasoning, Text: e.Text, Delta: e.Subtype == "delta"}), true
	case "tool_call":
		return e.events()
	default:
		return r.claudeReader.read(data)
	}
}

// withoutRepeats joins pieces of a message, and leaves out a message whose pieces were read
// before.
func (r *cursorReader) withoutRepeats(e cursorCall, events []Event) []Event {
	if len(events) != 1 || events[0].Kind != Message {
		return events
	}
	text := events[0].Text
	if !isNull(e.Time) && e.ModelCall == "" {
		events[0].Delta = true
		for _, seen := range []*strings.Builder{&r.message, &r.turn} {
			if seen.Len()+len(text) <= maxRepeated {
				seen.WriteString(text)
			}
		}
		return events
	}
	repeats := text != "" && (text == r.message.String() || text == r.turn.String())
	r.message.Reset()
	if repeats {
		return nil
	}
	return events
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
		value, ok := outcome["success"]
		if !ok {
			value, result.Failed = firstOf(outcome, "error", "failure", "rejected")
		}
		if !ok && !result.Failed && !isNull(fields["result"]) { // an outcome of another name
			value, result.Failed = fields["result"], true
		}
		result.Text, result.ExitCode = cursorOutput(value), exitCodeOf(value)
		if code := result.ExitCode; code != nil && *code != 0 {
			result.Failed = true
		}
		return []Event{result}, true
	}
	return nil, false
}

// cursorOutput returns the text of a result: what a command printed, standard error last, or
// the text of any other tool.
func cursorOutput(value json.RawMessage) string {
	fields := object(value)
	if stdout, ok := fields["stdout"]; ok {
		return str(stdout) + str(fields["stderr"])
	}
	return textOf(value)
}
