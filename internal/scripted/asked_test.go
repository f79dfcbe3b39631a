package scripted

import (
	"strings"
	"testing"
)

func TestTheScriptTellsWhatTheModelWasAskedWith(t *testing.T) {
	c := Conversation{
		Model: "some/model:8b", System: "be terse\nand kind", Prompts: []string{"first", "second <task>"},
		Tools: []Tool{{Name: "Bash"}, {Name: "Edit"}}, Results: []string{"{model} {heard:first}"},
	}
	for text, want := range map[string]string{
		"{model}":                                   "some/model:8b",
		"{tools}":                                   "Bash Edit",
		"{heard:be terse}{heard:first}":             "yesyes",
		"{heard:second <task>} {heard:third}":       "yes no",
		"{heard:} {heard} {heard:a{b}":              "{heard:} {heard} {heard:a{b}",
		"what the agent says is not read: {result}": "what the agent says is not read: {model} {heard:first}",
	} {
		if got := c.fill([]string{text}); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestTheModelOfAGeminiPathMayHaveColonsAndSlashes(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "qwen3:8b", "team/model:8b"} {
		answer := read(t, post(t, Script{Done: "{model}"}, "/v1beta/models/"+model+":generateContent", "", bodies["gemini"].body))
		if !strings.Contains(answer, `"text":"`+model+`"`) {
			t.Errorf("%s: %s", model, answer)
		}
	}
}
