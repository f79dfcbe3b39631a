package scripted

import (
	"strings"
	"testing"
)

func TestScriptReportsWhetherTheTaskArrivedUnchanged(t *testing.T) {
	task := "-- \"do\" 'it' $HOME\n\tnow 漢"
	script := Script{Expect: task, Steps: []Step{{Write: &Write{Path: "a", Content: "received: {received}\n"}}}, Done: "{received}"}
	for name, test := range map[string]struct {
		prompts []string
		want    string
	}{
		"alone":          {[]string{task}, `"content":"received: yes\n"`},
		"in a frame":     {[]string{"Limits\n\n---\n\n" + task}, `"content":"received: yes\n"`},
		"with reminders": {[]string{task, "<system-reminder>x</system-reminder>"}, `"content":"received: yes\n"`},
		"mangled":        {[]string{strings.ReplaceAll(task, "$HOME", "/root")}, `received: \"-- \\\"do\\\" 'it' /root\\n\\tnow \\u6f22\"\n`},
		"nothing":        {nil, `received: \"\"\n`},
	} {
		turns := plays(t, script, Conversation{Prompts: test.prompts, Tools: allTools}, "written", 3)
		if len(turns) < 2 || !strings.Contains(turns[0], test.want) {
			t.Errorf("%s: %q, want %s", name, turns, test.want)
		}
	}
	if script.Steps[0].Write.Content != "received: {received}\n" {
		t.Error("one conversation has changed the script for the next")
	}
	if turns := plays(t, Script{Done: "{received}"}, Conversation{Tools: allTools}, "", 1); turns[0] != "{received}" {
		t.Errorf("without an expectation: %q", turns)
	}
}
