package conversation

import (
	"encoding/json"
)

// openCodeReader reads the events of `opencode run --format json`: the parts of the
// agent's messages. A tool call comes when it has ended.
// https://github.com/sst/opencode/blob/dev/packages/opencode/src/cli/cmd/run.ts
type openCodeReader struct{}

type openCodeEvent struct {
	Type  string
	Part  openCodePart
	Error json.RawMessage
}

type openCodePart struct {
	Text   string
	CallID string `json:"callID"`
	Tool   string
	State  struct {
		Status   string
		Input    json.RawMessage
		Output   string
		Error    string
		Metadata struct {
			Diff string
			Exit *int
		}
	}
	Cost   float64
	Tokens struct {
		Input  int
		Output int
		Cache  struct{ Read int }
	}
}

func (openCodeReader) read(data []byte) ([]Event, bool) {
	var e openCodeEvent
	decodeJSON(data, &e)
	switch e.Type {
	case "step_start":
		return nil, true
	case "text":
		return []Event{{Kind: Message, Role: Agent, Text: e.Part.Text}}, true
	case "reasoning":
		return []Event{{Kind: Reasoning, Text: e.Part.Text}}, true
	case "tool_use":
		return e.Part.tool(), true
	case "step_finish":
		t := e.Part.Tokens
		return []Event{{Kind: Used, Usage: &Usage{Input: t.Input + t.Cache.Read, Output: t.Output, Cached: t.Cache.Read, Cost: e.Part.Cost}}}, true
	case "error":
		fields := object(e.Error)
		text := textOf(fields["data"])
		if text == "" {
			text = textOf(e.Error)
		}
		return []Event{{Kind: Failure, Text: text}}, true
	default:
		return nil, false
	}
}

// tool returns a call and its result.
func (p openCodePart) tool() []Event {
	call := newCall(p.CallID, p.Tool, p.State.Input)
	if diff := p.State.Metadata.Diff; diff != "" && len(call.Edits) == 1 {
		call.Edits[0].Diff = hunksOf(diff)
	}
	result := Event{Kind: Result, ID: p.CallID, Text: p.State.Output, ExitCode: p.State.Metadata.Exit, Failed: p.State.Status == "error"}
	if p.State.Error != "" {
		result.Text = p.State.Error
	}
	if code := result.ExitCode; code != nil && *code != 0 {
		result.Failed = true
	}
	return []Event{call, result}
}
