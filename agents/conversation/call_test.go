package conversation

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestCallIsDescribedInOneLine(t *testing.T) {
	for _, test := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"go test ./...\ngo vet","description":"Run the tests"}`, "$ go test ./... ⏎ go vet"},
		{"shell", `{"command":["bash","-lc","ls"]}`, "$ bash -lc ls"},
		{"Read", `{"file_path":"/w/a.go","limit":10}`, "Read /w/a.go"},
		{"Grep", `{"pattern":"func main"}`, "Grep func main"},
		{"Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "Edit a.go"},
		{"mcp", `{"x":1}`, `mcp {"x":1}`},
		{"", ``, "tool"},
	} {
		if got := newCall("1", test.tool, json.RawMessage(test.input)).Title(); got != test.want {
			t.Errorf("%s %s: %q", test.tool, test.input, got)
		}
	}
}

func TestPlansAreReadFromTheArgumentsOfTools(t *testing.T) {
	want := []Task{{"read", Done}, {"write", Active}, {"test", Pending}}
	for tool, input := range map[string]string{
		"TodoWrite":   `{"todos":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`,
		"write_todos": `{"todos":[{"description":"read","status":"completed"},{"description":"write","status":"in_progress"},{"description":"test","status":"cancelled"}]}`, //nolint:misspell // as Gemini CLI spells it
		"update_plan": `{"plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"},{"step":"test"}]}`,
	} {
		e := newCall("1", tool, json.RawMessage(input))
		if e.Kind != Plan || !reflect.DeepEqual(e.Tasks, want) {
			t.Errorf("%s: %+v", tool, e)
		}
	}
	if e := newCall("1", "TodoWrite", json.RawMessage(`{"todos":"none"}`)); e.Kind != Call {
		t.Errorf("a plan that cannot be read is %+v", e)
	}
}
