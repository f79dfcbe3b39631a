package conversation

import (
	"encoding/json"
	"strings"
)

// shells are the tools that run a command, in lower case.
var shells = map[string]bool{
	"bash": true, "shell": true, "run_shell_command": true, "exec_command": true, "command_execution": true, "powershell": true, "terminal": true,
	"run_terminal_cmd": true, "local_shell": true,
}

// planners are the tools that write a plan, in lower case.
var planners = map[string]bool{
	"todowrite": true, "todo_write": true, "write_todos": true, "update_plan": true, "updatetodos": true,
}

// newCall returns the event of a tool call: a plan if the tool writes one.
func newCall(id, tool string, input json.RawMessage) Event {
	name := strings.ToLower(tool)
	if planners[name] {
		if tasks := tasksOf(input); len(tasks) > 0 {
			return Event{Kind: Plan, ID: id, Tool: tool, Tasks: tasks}
		}
	}
	e := Event{Kind: Call, ID: id, Tool: tool}
	if !isNull(input) {
		e.Input = input
	}
	if shells[name] {
		e.Command = commandOf(input)
	} else {
		e.Edits = editsOf(input)
	}
	return e
}

// commandOf returns the command of a shell's arguments.
func commandOf(input json.RawMessage) string {
	value, _ := firstOf(object(input), "command", "cmd")
	if words := list(value); words != nil {
		var all []string
		for _, word := range words {
			all = append(all, str(word))
		}
		return strings.Join(all, " ")
	}
	return str(value)
}

// tasksOf returns the tasks of a planner's arguments.
func tasksOf(input json.RawMessage) []Task {
	all, _ := firstOf(object(input), "todos", "plan", "items")
	var tasks []Task
	for _, one := range list(all) {
		fields := object(one)
		text := firstString(fields, "content", "text", "step", "description", "title")
		if text == "" {
			continue
		}
		status := statusOf(firstString(fields, "status"))
		if str(fields["status"]) == "" && string(fields["completed"]) == "true" {
			status = Done
		}
		tasks = append(tasks, Task{Text: text, Status: status})
	}
	return tasks
}

func statusOf(text string) Status {
	switch strings.ToLower(text) {
	case "completed", "done", "complete", "todo_status_completed":
		return Done
	case "in_progress", "in-progress", "active", "todo_status_in_progress":
		return Active
	default:
		return Pending
	}
}

// titleNames are the arguments that describe a call best.
var titleNames = []string{
	"command", "cmd", "file_path", "filePath", "path", "absolute_path", "target_file", "dir_path", "pattern", "globPattern", "query", "url", "urls", "description", "prompt", "name",
}

// Title describes a call in one line: its command, or its tool and its most informative
// argument. It is raw.
func (e Event) Title() string {
	if e.Command != "" {
		return "$ " + oneLine(e.Command)
	}
	tool := e.Tool
	if tool == "" {
		tool = "tool"
	}
	if len(e.Edits) > 0 {
		return oneLine(tool + " " + e.Edits[0].Path)
	}
	fields := object(e.Input)
	if text := firstString(fields, titleNames...); text != "" {
		return oneLine(tool + " " + text)
	}
	if input := string(e.Input); len(fields) > 0 {
		return oneLine(tool + " " + cut(input, 200))
	}
	return oneLine(tool)
}

// oneLine returns a text as one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ ")
}

// cut shortens a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
