package conversation

import (
	"encoding/json"
	"strings"

	"aibox/internal/lazyregexp"
)

// copilotReader reads the events of `copilot --output-format json`: those of its
// sessions, each with its data, and a result.
type copilotReader struct{}

type copilotEvent struct {
	Type string
	Data struct {
		Content   json.RawMessage
		Reasoning string `json:"reasoningText"`
		Message   string
		Model     string
		ToolID    string `json:"toolCallId"`
		ToolName  string `json:"toolName"`
		Arguments json.RawMessage
		Success   *bool
		Shell     struct {
			ExitCode *int `json:"exitCode"`
		} `json:"shellExecution"`
		Result   json.RawMessage
		Error    json.RawMessage
		Input    int     `json:"inputTokens"`
		Output   int     `json:"outputTokens"`
		Cached   int     `json:"cacheReadTokens"`
		Cost     float64 `json:"cost"`
		Duration int64   `json:"duration"`
	}
	ExitCode *int `json:"exitCode"` // of the last event
}

// copilotSilent are the events that repeat another one, or are about the program itself.
var copilotSilent = map[string]bool{
	"assistant.message_delta": true, "assistant.message_start": true, "assistant.reasoning_delta": true, "assistant.streaming_delta": true,
	"assistant.tool_call_delta": true, "assistant.turn_start": true, "assistant.turn_end": true, "assistant.idle": true,
	"tool.execution_partial_result": true, "tool.execution_progress": true, "tool.shell_output": true,
	"model.call_start": true, "model.call_finished": true, "model.call_final_result": true,
	"model.call_failure":               true,
	"session.background_tasks_changed": true, "session.mcp_servers_loaded": true, "session.skills_loaded": true, "session.tools_updated": true,
	"session.info": true,
}

// copilotShell matches the line that Copilot adds to the output of a command.
var copilotShell = lazyregexp.New(`(?s)^(.*)<shellId: \d+ completed with exit code \d+>\s*$`)

func (copilotReader) read(data []byte) ([]Event, bool) {
	var e copilotEvent
	decodeJSON(data, &e)
	d := e.Data
	switch e.Type {
	case "session.start", "session.resume":
		return []Event{{Kind: Start, Model: d.Model}}, true
	case "user.message":
		return []Event{{Kind: Message, Role: User, Text: textOf(d.Content)}}, true
	case "assistant.message":
		var events []Event
		if d.Reasoning != "" {
			events = append(events, Event{Kind: Reasoning, Text: d.Reasoning})
		}
		if text := textOf(d.Content); strings.TrimSpace(text) != "" {
			events = append(events, Event{Kind: Message, Role: Agent, Text: text})
		}
		return events, true
	case "assistant.reasoning":
		return []Event{{Kind: Reasoning, Text: textOf(d.Content)}}, true
	case "tool.execution_start":
		return []Event{newCall(d.ToolID, d.ToolName, d.Arguments)}, true
	case "tool.execution_complete":
		code := d.Shell.ExitCode
		result := Event{Kind: Result, ID: d.ToolID, Text: textOf(d.Result), ExitCode: code}
		if output := copilotShell.FindStringSubmatch(result.Text); code != nil && output != nil {
			result.Text = output[1]
		}
		result.Failed = d.Success != nil && !*d.Success || code != nil && *code != 0
		if text := textOf(d.Error); text != "" {
			result.Text = text
		}
		return []Event{result}, true
	case "session.warning":
		return []Event{{Kind: Warning, Text: d.Message}}, true
	case "session.error":
		return []Event{{Kind: Failure, Text: d.Message}}, true
	case "assistant.usage":
		return []Event{{Kind: Used, Usage: &Usage{Input: d.Input, Output: d.Output, Cached: d.Cached, Millis: d.Duration}}}, true
	case "result":
		return []Event{{Kind: End, Failed: e.ExitCode != nil && *e.ExitCode != 0, ExitCode: e.ExitCode}}, true
	default:
		return nil, copilotSilent[e.Type]
	}
}
