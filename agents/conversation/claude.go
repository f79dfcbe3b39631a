package conversation

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lazyregexp"
)

// claudeReader reads the events of `claude --output-format stream-json --verbose`, which
// Qwen Code and `amp --stream-json` print, too.
// https://code.claude.com/docs/en/headless
type claudeReader struct{}

type claudeEvent struct {
	Type    string
	Subtype string
	Model   string
	Message claudeMessage
	// Parent is the call of the subagent that the event belongs to.
	Parent string `json:"parent_tool_use_id"`
	// Synthetic reports that the agent wrote a message of the user, such as for a skill.
	Synthetic bool `json:"isSynthetic"`
	IsError   bool `json:"is_error"`
	Result    json.RawMessage
	Errors    json.RawMessage
	Error     json.RawMessage
	Duration  int64   `json:"duration_ms"`
	Cost      float64 `json:"total_cost_usd"`
	Usage     claudeUsage
}

type claudeMessage struct {
	Content json.RawMessage
}

type claudeUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
}

type claudeBlock struct {
	Type     string
	Text     string
	Thinking string
	ID       string
	Name     string
	Input    json.RawMessage
	CallID   string `json:"tool_use_id"`
	Content  json.RawMessage
	IsError  bool `json:"is_error"`
}

func (claudeReader) read(data []byte) ([]Event, bool) {
	var e claudeEvent
	decodeJSON(data, &e)
	switch e.Type {
	case "system":
		if e.Subtype != "init" {
			return nil, false
		}
		return []Event{{Kind: Start, Model: e.Model}}, true
	case "assistant":
		return claudeBlocks(Agent, e.Message.Content)
	case "user":
		events, known := claudeBlocks(User, e.Message.Content)
		if e.Parent != "" || e.Synthetic {
			events = notUser(events)
		}
		return events, known
	case "stream_event":
		return nil, true // pieces of a message that is also printed as a whole
	case "result":
		return e.end(), true
	default:
		return nil, false
	}
}

// notUser marks the messages as no text of the user: the model wrote them for a subagent, or the
// agent for the model. It drops empty ones, which no reader shows as messages.
func notUser(events []Event) []Event {
	for i := range events {
		if events[i].Kind == Message {
			events[i].Kind, events[i].Role = Reasoning, ""
		}
	}
	return slices.DeleteFunc(events, func(e Event) bool { return e.Kind == Reasoning && strings.TrimSpace(e.Text) == "" })
}

// claudeBlocks reads the content of a message: a text, or blocks.
func claudeBlocks(role Role, content json.RawMessage) ([]Event, bool) {
	if text := str(content); text != "" {
		return []Event{{Kind: Message, Role: role, Text: text}}, true
	}
	var events []Event
	for _, data := range list(content) {
		var block claudeBlock
		decodeJSON(data, &block)
		switch block.Type {
		case "text":
			events = append(events, Event{Kind: Message, Role: role, Text: block.Text})
		case "thinking":
			events = append(events, Event{Kind: Reasoning, Text: block.Thinking})
		case "tool_use", "server_tool_use":
			events = append(events, newCall(block.ID, block.Name, block.Input))
		case "tool_result", "web_search_tool_result":
			result := Event{Kind: Result, ID: block.CallID, Text: textOf(block.Content), Failed: block.IsError}
			if block.IsError {
				result.ExitCode = exitCodeIn(result.Text)
				result.Text = shellOutput(result.Text)
			}
			result = ampShell(result)
			events = append(events, result)
		default:
			events = append(events, Event{Kind: Other, Name: block.Type, Raw: data})
		}
	}
	return events, len(events) > 0
}

// exitCode matches the line in which Claude and Qwen Code report the exit code of a command.
var exitCode = lazyregexp.New(`(?m)^Exit [cC]ode:? (\d{1,3})$`)

// exitCodeIn returns the exit code in the result of a command; nil for none.
func exitCodeIn(text string) *int {
	if found := exitCode.FindStringSubmatch(text); found != nil {
		if code, err := strconv.Atoi(found[1]); err == nil {
			return &code
		}
	}
	return nil
}

// qwenShell matches the report of a failed command that Qwen Code makes.
var qwenShell = lazyregexp.New(`(?s)^Command: .*?\nOutput: (.*)\nError: .*\nExit Code: \d+\n`)

// shellOutput returns the output in the report of a failed command.
func shellOutput(text string) string {
	if report := qwenShell.FindStringSubmatch(text); report != nil {
		return report[1]
	}
	return text
}

// ampShell converts the result of a command of Amp, a JSON object in a string, to the form of
// other agents.
func ampShell(result Event) Event {
	fields := object(json.RawMessage(result.Text))
	code := exitCodeOf(json.RawMessage(result.Text))
	if _, printed := fields["output"]; !printed || code == nil || len(fields) != 2 {
		return result
	}
	result.Text, result.ExitCode, result.Failed = str(fields["output"]), code, result.Failed || *code != 0
	return result
}

// end reads the last event.
func (e claudeEvent) end() []Event {
	failed := e.IsError || e.Subtype != "success" && e.Subtype != ""
	u := e.Usage
	events := []Event{{Kind: Used, Usage: &Usage{
		Input: u.Input + u.Read + u.Created, Output: u.Output, Cached: u.Read, Cost: e.Cost, Millis: e.Duration,
	}}}
	text := textOf(e.Result)
	if failed {
		why := text
		for _, other := range []json.RawMessage{e.Errors, e.Error} {
			if why == "" {
				why = textOf(other)
			}
		}
		if why == "" {
			why = e.Subtype
		}
		events = append(events, Event{Kind: Failure, Text: why})
	}
	return append(events, Event{Kind: End, Failed: failed, Text: text})
}
