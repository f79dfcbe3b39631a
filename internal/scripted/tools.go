package scripted

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Tool is one tool the agent offers.
type Tool struct {
	Name      string
	Namespace string
	Schema    schema
}

// schema is as much of a JSON schema as is needed to make arguments for it.
type schema struct {
	Type       typeName          `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []any             `json:"enum"`
	Items      *schema           `json:"items"`
	AnyOf      []schema          `json:"anyOf"`
}

// typeName is a schema's type; of a list of types the first counts. Gemini writes
// them in capitals.
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

// readSchema reads a schema leniently: what it does not understand is empty.
func readSchema(text json.RawMessage) schema {
	var s schema
	if json.Unmarshal(text, &s) != nil {
		return schema{}
	}
	return s
}

// A role is what a tool is for, with the names that the real agents give the tool
// and its arguments.
type role struct {
	names []string
	args  [][]string // for each argument its names
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

// find is the tool that plays a role and the names of its arguments. Earlier names
// win over later ones.
func (c Conversation) find(r role) (Tool, []string, bool) {
	for _, name := range r.names {
		for _, tool := range c.Tools {
			if strings.ToLower(tool.Name) != name {
				continue
			}
			if args, ok := tool.arguments(r); ok {
				return tool, args, true
			}
		}
	}
	return Tool{}, nil, false
}

// arguments are the names that tool gives the arguments of r.
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

// call uses the tool that plays a role, or gives nil when there is none.
func (c Conversation) call(r role, values ...any) *Call {
	tool, names, ok := c.find(r)
	if !ok {
		return nil
	}
	args := map[string]any{}
	for i, name := range names {
		args[name] = fit(tool.Schema.Properties[name], values[i])
	}
	if _, ok := tool.Schema.Properties["yield_time_ms"]; ok {
		args["yield_time_ms"] = 30_000 // Codex waits 10 s otherwise
	}
	for _, name := range tool.Schema.Required {
		if _, ok := args[name]; !ok {
			args[name] = sample(tool.Schema.Properties[name], 0)
		}
	}
	return &Call{Name: tool.Name, Namespace: tool.Namespace, Args: encode(args)}
}

// fit turns a shell command into words where the tool takes a list.
func fit(s schema, value any) any {
	if text, ok := value.(string); ok && s.Type == "array" {
		return []string{"bash", "-c", text}
	}
	return value
}

// sample is a value that a schema allows.
func sample(s schema, depth int) any {
	switch {
	case depth > 8:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return sample(s.AnyOf[0], depth+1)
	}
	switch s.Type {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			if slices.Contains(s.Required, name) || len(s.Required) == 0 {
				object[name] = sample(property, depth+1)
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

// within is name as the agent's tools want it: absolute where the agent said what
// its working directory is.
func (c Conversation) within(name string) string {
	if dir := c.Workdir(); dir != "" && !path.IsAbs(name) {
		return path.Join(dir, name)
	}
	return name
}
