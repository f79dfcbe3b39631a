package conversation

import (
	"encoding/json"
	"strings"

	"aibox/internal/shellquote"
)

// codexReader reads the events of `codex exec --json`: threads, turns, and items that are
// started, updated and completed.
// https://github.com/openai/codex/blob/main/codex-rs/exec/src/exec_events.rs
type codexReader struct {
	begun []string // ids of the items that were started, at most maxBegun
}

// maxBegun bounds the started items that are remembered.
const maxBegun = 1000

type codexEvent struct {
	Type    string
	Item    json.RawMessage
	Message string
	Error   struct{ Message string }
	Usage   struct {
		Input  int `json:"input_tokens"`
		Cached int `json:"cached_input_tokens"`
		Output int `json:"output_tokens"`
	}
}

type codexItem struct {
	ID       string
	Type     string
	Text     string
	Message  string
	Command  string
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Status   string
	Changes  []struct {
		Path string
		Kind string
		Diff string `json:"unified_diff"`
	}
	Items []struct {
		Text      string
		Completed bool
	}
	Server    string
	Tool      string
	Arguments json.RawMessage
	Result    json.RawMessage
	Error     struct{ Message string }
	Query     string
}

func (r *codexReader) read(data []byte) ([]Event, bool) {
	var e codexEvent
	decodeJSON(data, &e)
	switch e.Type {
	case "thread.started":
		return []Event{{Kind: Start}}, true
	case "turn.started":
		return nil, true
	case "turn.completed":
		return []Event{
			{Kind: Used, Usage: &Usage{Input: e.Usage.Input, Output: e.Usage.Output, Cached: e.Usage.Cached}},
			{Kind: End},
		}, true
	case "turn.failed":
		return []Event{{Kind: Failure, Text: errorText(e.Error.Message)}, {Kind: End, Failed: true}}, true
	case "error":
		return []Event{{Kind: Failure, Text: errorText(e.Message)}}, true
	case "item.started", "item.updated", "item.completed":
		return r.item(e.Type, e.Item)
	default:
		return nil, false
	}
}

// errorText returns the message of an error that a model server sent as JSON; other texts
// are returned unchanged.
func errorText(text string) string {
	if message := firstString(object(object(json.RawMessage(text))["error"]), "message"); message != "" {
		return message
	}
	return text
}

// item reads a state of an item.
func (r *codexReader) item(state string, data json.RawMessage) ([]Event, bool) {
	var item codexItem
	if !decodeJSON(data, &item) {
		return nil, false
	}
	completed := state == "item.completed"
	switch item.Type {
	case "agent_message", "assistant_message":
		return one(completed, Event{Kind: Message, Role: Agent, Text: item.Text}), true
	case "reasoning":
		return one(completed, Event{Kind: Reasoning, Text: item.Text}), true
	case "error":
		return one(completed, Event{Kind: Warning, Text: item.Message}), true
	case "todo_list":
		var tasks []Task
		for _, task := range item.Items {
			status := Pending
			if task.Completed {
				status = Done
			}
			tasks = append(tasks, Task{Text: task.Text, Status: status})
		}
		return []Event{{Kind: Plan, ID: item.ID, Tasks: tasks}}, true
	}
	call, known := item.call()
	if !known {
		return nil, false
	}
	if item.Type == "web_search" && item.Query == "" && !completed {
		return nil, true // Codex reports what it searches for at the end
	}
	var events []Event
	if r.begin(item.ID) {
		events = append(events, call)
	}
	if completed {
		events = append(events, item.result(call))
	}
	return events, true
}

// one returns the event if it is complete.
func one(complete bool, e Event) []Event {
	if !complete {
		return nil
	}
	return []Event{e}
}

// begin reports whether this is the first state of an item.
func (r *codexReader) begin(id string) bool {
	id = shortID(id)
	for _, begun := range r.begun {
		if begun == id {
			return false
		}
	}
	if len(r.begun) == maxBegun {
		r.begun = r.begun[:copy(r.begun, r.begun[1:])]
	}
	r.begun = append(r.begun, id)
	return true
}

// call returns the tool call in an item.
func (i codexItem) call() (Event, bool) {
	e := Event{Kind: Call, ID: i.ID, Tool: i.Type, Input: i.Arguments}
	switch i.Type {
	case "command_execution":
		e.Tool, e.Command = "shell", unwrapShell(i.Command)
	case "file_change":
		e.Tool = "apply_patch"
		for _, change := range i.Changes {
			e.Edits = append(e.Edits, Edit{Path: change.Path, Change: Change(change.Kind), Diff: change.Diff})
		}
	case "mcp_tool_call":
		e.Tool = i.Server + "." + i.Tool
	case "web_search":
		e.Tool, e.Input = "web_search", encodeJSON(map[string]string{"query": i.Query})
	default:
		return Event{}, false
	}
	return e, true
}

// unwrapShell returns the command that a shell runs, as in /bin/bash -lc 'ls'.
func unwrapShell(command string) string {
	words, err := shellquote.Split(command)
	if err != nil || len(words) != 3 || !strings.HasSuffix(words[0], "sh") || words[1] != "-lc" && words[1] != "-c" {
		return command
	}
	return words[2]
}

// result returns the result of an item.
func (i codexItem) result(call Event) Event {
	e := Event{Kind: Result, ID: i.ID, Text: i.Output, ExitCode: i.ExitCode, Failed: i.Status == "failed" || i.Status == "declined"}
	if call.Command == "" {
		e.Text = textOf(i.Result)
	}
	if i.Error.Message != "" {
		e.Text, e.Failed = i.Error.Message, true
	}
	if i.ExitCode != nil && *i.ExitCode != 0 {
		e.Failed = true
	}
	return e
}

// encodeJSON encodes a value that is known to be encodable.
func encodeJSON(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return data
}
