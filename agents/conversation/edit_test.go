package conversation

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEditsAreReadFromTheArgumentsOfTools(t *testing.T) {
	for _, test := range []struct {
		name, input string
		want        []Edit
	}{
		{"Claude's Edit", `{"file_path":"/w/a.go","old_string":"a\nb\nc\n","new_string":"a\nB\nc\n"}`, []Edit{{"/w/a.go", Update, " a\n-b\n+B\n c\n"}}},
		{"a MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"1","new_string":""}]}`, []Edit{{"a", Update, "-x\n+y\n@@\n-1\n"}}},
		{"Copilot's create", `{"path":"/w/a","file_text":"one\ntwo"}`, []Edit{{"/w/a", Write, "+one\n+two\n"}}},
		{"an empty file", `{"file_path":"a","content":""}`, []Edit{{"a", Write, ""}}},
		{"a patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: b\n*** Add File: c\n+z\n*** End Patch"}`, []Edit{
			{"a.go", Update, "@@\n-x\n+y\n"}, {"b", Delete, ""}, {"c", Add, "+z\n"},
		}},
		{"a read", `{"file_path":"a","limit":3}`, nil},
		{"no object", `["file_path"]`, nil},
		{"content that is no text", `{"file_path":"a","content":{"x":1}}`, nil},
	} {
		if got := editsOf(json.RawMessage(test.input)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// Applying the diff of two whole texts to the first gives the second.
func TestDiffLeadsFromOneTextToTheOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12)
		before, after := lines.Draw(rt, "before"), lines.Draw(rt, "after")
		var deleted, added []string
		for text := range strings.Lines(diff(joined(before), joined(after))) {
			switch text = strings.TrimSuffix(text, "\n"); text[0] {
			case '-':
				deleted = append(deleted, text[1:])
			case '+':
				added = append(added, text[1:])
			}
		}
		if len(before)-len(deleted) != len(after)-len(added) {
			rt.Fatalf("-%q +%q", deleted, added)
		}
		if reflect.DeepEqual(before, after) && len(deleted)+len(added) > 0 {
			rt.Fatalf("equal texts differ: -%q +%q", deleted, added)
		}
	})
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
