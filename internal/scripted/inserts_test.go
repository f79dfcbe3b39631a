package scripted

import (
	"strings"
	"testing"
)

func TestScriptCanInsertPartsOfTheRequest(t *testing.T) {
	c := Conversation{
		Model: "some/model:8b", System: "be terse\nand kind", Prompts: []string{"first", "second <task>"},
		Tools: []Tool{{Name: "Bash"}, {Name: "Edit"}}, Results: []string{"{model} {received:first}"},
	}
	for text, want := range map[string]string{
		"{model}":                             "some/model:8b",
		"{tools}":                             "Bash Edit",
		"{received:be terse}{received:first}": "yesyes",
		"{received:second <task>} {received:third}": "yes no",
		"{received:} {received} {received:a{b}":     "{received:} {received} {received:a{b}",
		"what the agent says is not read: {result}": "what the agent says is not read: {model} {received:first}",
	} {
		if got := c.fill([]string{text}); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestGeminiModelNameCanHaveColonsAndSlashes(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "qwen3:8b", "team/model:8b"} {
		answer := read(t, post(t, Script{Done: "{model}"}, "/v1beta/models/"+model+":generateContent", "", bodies["gemini"].body))
		if !strings.Contains(answer, `"text":"`+model+`"`) {
			t.Errorf("%s: %s", model, answer)
		}
	}
}

// Copilot's tool refuses a file in a missing folder.
func TestFolderIsCreatedBeforeCopilotWritesAFile(t *testing.T) {
	create := Tool{Name: "create", Schema: writeTool.Schema}
	script := Script{Steps: []Step{{Write: &Write{Path: "a/b/c.txt", Content: "x"}}, {Write: &Write{Path: "d.txt", Content: "y"}}}}
	turns := plays(t, script, Conversation{Tools: []Tool{shellTool, create}}, "ok", 5)
	if len(turns) != 4 || !strings.Contains(turns[0], `mkdir -p -- 'a/b'`) || !strings.Contains(turns[1], "create") || !strings.Contains(turns[2], "d.txt") || turns[3] != "Done." {
		t.Errorf("%q", turns)
	}
	if turns := plays(t, script, Conversation{Tools: allTools}, "ok", 5); len(turns) != 3 {
		t.Errorf("another agent: %q", turns)
	}
}
