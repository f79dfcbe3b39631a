package scripted

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Tool is one of the agent's tools.
type Tool struct {
	Name      string
	Namespace string
	Schema    schema
}

// schema is the part of a JSON schema that is used to build arguments.
type schema struct {
	Type       typeName          `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []any             `json:"enum"`
	Items      *schema           `json:"items"`
	AnyOf      []schema          `json:"anyOf"`
}

// typeName is a schema's type, or the first of a list of types. Gemini writes types in
// capitals.
type typeName string

func (t *typeName) UnmarshalJSON(text []byte) error {
	var one string
	var many []string
	switch {
	case json.Unmarshal(text, &one) == nil:
	case json.Unmarshal(text, &many) == nil && len(many) > 0:
		one = many[0]
	}
	*t = typeName(strings.ToLower(one))
	return nil
}

// readSchema parses a schema. It returns an empty one for text that it cannot parse.
func readSchema(text json.RawMessage) schema {
	var s schema
	if json.Unmarshal(text, &s) != nil {
		return schema{}
	}
	return s
}

// A role is a tool's purpose, with the names that real agents give the tool and its
// arguments.
type role struct {
	names []string
	args  [][]string // the names of each argument
}

var (
	pathNames = []string{"file_path", "filePath", "path", "absolute_path", "filename"}

	shellRole = role{
		names: []string{
			"exec_command", "bash", "run_shell_command", "shell_command", "shell", "run_command",
			"execute_command", "run_terminal_cmd",
		},
		args: [][]string{{"cmd", "command"}},
	}
	writeRole = role{
		names: []string{"write", "write_file", "create", "create_file"},
		args:  [][]string{pathNames, {"content", "file_text", "contents", "text"}},
	}
	readRole = role{
		names: []string{"read", "read_file", "view"},
		args:  [][]string{pathNames},
	}
	editRole = role{
		names: []string{"edit", "replace", "edit_file", "str_replace"},
		args: [][]string{
			pathNames, {"old_string", "oldString", "old_str"}, {"new_string", "newString", "new_str"},
		},
	}
	// pollRole waits for a command of Codex that is still running.
	pollRole = role{names: []string{"write_stdin"}, args: [][]string{{"session_id"}, {"chars"}}}
)

// find returns the tool with a role and the names of its arguments. It prefers earlier
// names of the role.
func (c Conversation) find(r role) (Tool, []string, bool) {
	for _, name := range r.names {
		for _, tool := range c.Tools {
			if strings.ToLower(tool.Name) != name || strings.HasPrefix(tool.Namespace, "mcp__") {
				continue
			}
			if args, ok := tool.arguments(r); ok {
				return tool, args, true
			}
		}
	}
	return Tool{}, nil, false
}

// arguments returns the tool's names of the arguments of r.
func (t Tool) arguments(r role) ([]string, bool) {
	var found []string
	for _, names := range r.args {
		at := slices.IndexFunc(names, func(name string) bool {
			_, ok := t.Schema.Properties[name]
			return ok
		})
		if at < 0 {
			return nil, false
		}
		found = append(found, names[at])
	}
	return found, true
}

// call returns a call of the tool with a role, or nil if there is none.
func (c Conversation) call(r role, values ...any) *Call {
	tool, names, ok := c.find(r)
	if !ok {
		return nil
	}
	args := map[string]any{}
	for i, name := range names {
		args[name] = shellArgs(tool.Schema.Properties[name], values[i])
	}
	if _, ok := tool.Schema.Properties["yield_time_ms"]; ok {
		args["yield_time_ms"] = 30_000 // Codex waits 10 s otherwise
	}
	for _, name := range tool.Schema.Required {
		if _, ok := args[name]; !ok {
			args[name] = sampleValue(tool.Schema.Properties[name], 0)
		}
	}
	return &Call{Name: tool.Name, Namespace: tool.Namespace, Args: encode(args)}
}

// use returns a call of the tool with a name, or nil if there is none.
func (c Conversation) use(u Use) *Call {
	for _, tool := range c.Tools {
		before, ok := strings.CutSuffix(tool.Name, u.Tool)
		if ok && (before == "" || strings.ContainsAny(before[len(before)-1:], "_-.")) {
			args := u.Args
			if args == nil {
				args = map[string]any{}
			}
			return &Call{Name: tool.Name, Namespace: tool.Namespace, Args: encode(args)}
		}
	}
	return nil
}

// shellArgs turns a shell command into a list if the tool takes one.
func shellArgs(s schema, value any) any {
	if text, ok := value.(string); ok && s.Type == "array" {
		return []string{"bash", "-c", text}
	}
	return value
}

// sampleValue returns a value that a schema allows.
func sampleValue(s schema, depth int) any {
	switch {
	case depth > 8:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return sampleValue(s.AnyOf[0], depth+1)
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			if slices.Contains(s.Required, name) || len(s.Required) == 0 {
				object[name] = sampleValue(property, depth+1)
			}
		}
		return object
	case "array":
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	default:
		return "as the script says"
	}
}

// within returns name as the agent's tools expect it: absolute if the request names the
// working directory.
func (c Conversation) within(name string) string {
	if dir := c.Workdir(); dir != "" && !path.IsAbs(name) {
		return path.Join(dir, name)
	}
	return name
}
