package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// valid returns a value that a schema permits, for the arguments that a tool requires.
func valid(schema *jsonschema.Schema) any {
	switch {
	case schema.Type == "object":
		fields := map[string]any{}
		for _, name := range schema.Required {
			fields[name] = valid(schema.Properties[name])
		}
		return fields
	case schema.Type == "number", schema.Type == "integer":
		return 1
	case schema.Type == "boolean":
		return true
	default:
		return "x"
	}
}

func TestEveryToolRefusesArgumentsThatItDoesNotHaveAndNamesThem(t *testing.T) {
	c, sandboxes := hostileServer(t)
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	properties := 0
	for _, tool := range listed.Tools {
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		schema := &jsonschema.Schema{}
		if err := json.Unmarshal(text, schema); err != nil {
			t.Fatal(err)
		}
		refused := func(name string, value any, named string) {
			t.Helper()
			arguments, _ := valid(schema).(map[string]any)
			arguments = maps.Clone(arguments)
			arguments[name] = value
			result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
			said := ""
			if err != nil {
				said = err.Error()
			} else if result.IsError {
				for _, content := range result.Content {
					if text, ok := content.(*mcp.TextContent); ok {
						said += text.Text
					}
				}
			}
			if !strings.Contains(said, named) {
				t.Errorf("%s with the argument %s: %q", tool.Name, name, said)
			}
		}
		refused("bogus", 1, "bogus")
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			refused(name, []any{[]any{}}, name)
			properties++
		}
	}
	if len(listed.Tools) < 18 || properties < 50 {
		t.Errorf("only %d tools and %d arguments were checked", len(listed.Tools), properties)
	}
	for _, contradiction := range []struct{ tool, arguments, named string }{
		{"send_feedback", `{"session":"00001-codex","comments":[{"text":"t","bogus":1}]}`, "bogus"},
		{"send_feedback", `{"session":"00001-codex","comments":[{"text":"t","hunk":"a","path":"p"}]}`, "hunk"},
		{"send_feedback", `{"session":"00001-codex","reason":"a","reason":"b"}`, "duplicate"},
		{"send_feedback", `{"session":"00001-codex","comments":[{"text":"a","text":"b"}]}`, "/comments/0"},
	} {
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: contradiction.tool, Arguments: json.RawMessage(contradiction.arguments)})
		text, _ := json.Marshal(result)
		if err != nil || !result.IsError || !strings.Contains(string(text), contradiction.named) {
			t.Errorf("%s %s: %s, %v", contradiction.tool, contradiction.arguments, text, err)
		}
	}
	if len(sandboxes.created) > 0 {
		t.Error("a sandbox was created")
	}
	if result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_sessions", Arguments: map[string]any{}}); err != nil || result.IsError {
		t.Errorf("afterwards: %+v, %v", result, err)
	}
}

func TestATimeLimitIsNeverRoundedToNone(t *testing.T) {
	for _, seconds := range []float64{1e-10, 1e-300, 0, 600} {
		if limit, err := runTime(seconds); err != nil || limit <= 0 || limit > maxRun {
			t.Errorf("%v seconds: %v, %v", seconds, limit, err)
		}
	}
}
