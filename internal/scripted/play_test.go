package scripted

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tools that most agents offer, in one of many forms.
var (
	shellTool = tool("bash", "command")
	writeTool = tool("write", "filePath", "content")
	readTool  = tool("read", "filePath")
	editTool  = tool("edit", "filePath", "oldString", "newString")
	allTools  = []Tool{shellTool, writeTool, readTool, editTool}
)

func tool(name string, args ...string) Tool {
	properties := map[string]schema{}
	for _, arg := range args {
		properties[arg] = schema{Type: "string"}
	}
	return Tool{Name: name, Schema: schema{Type: "object", Properties: properties, Required: args}}
}

func parse(t *testing.T, text string) Script {
	t.Helper()
	script, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// plays returns the turns of a script, each as "text -> tool arguments", until it ends or
// for n turns. Every call gets the given result.
func plays(t *testing.T, script Script, c Conversation, result string, n int) []string {
	t.Helper()
	var turns []string
	for range n {
		turn, err := play(script, c)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case turn.Fail != nil:
			return append(turns, turn.Fail.message())
		case turn.Call == nil:
			return append(turns, turn.Text)
		}
		turns = append(turns, turn.Text+" -> "+turn.Call.Name+" "+string(turn.Call.Args))
		c.Results = append(c.Results, result)
	}
	return turns
}

func TestNumberOfResultsSelectsTheNextStep(t *testing.T) {
	script := parse(t, `
done = "All done."
[[step]]
say = "First."
run = "one"
[[step]]
say = "Looping."
run = "two"
loop = 2
[[step]]
say = "A word, "
[[step]]
say = "then a file of {agent} after {result}."
write = { path = "a/b.txt", content = "by {agent}\n" }
`)
	want := []string{
		`First. -> bash {"command":"one"}`,
		`Looping. -> bash {"command":"two"}`,
		` -> bash {"command":"two"}`,
		"A word, \nthen a file of robby after went well. -> write " + `{"content":"by robby\n","filePath":"/repo/a/b.txt"}`,
		"All done.",
	}
	c := Conversation{Tools: allTools, Agent: "robby", System: "Working directory: /repo\n"}
	if diff := cmp.Diff(want, plays(t, script, c, "noise\nwent well\n\n", 9)); diff != "" {
		t.Error(diff)
	}
}

func TestEndlessLoopNeverEnds(t *testing.T) {
	script := parse(t, "[[step]]\nrun = \"again\"\nloop = -1\n[[step]]\nrun = \"never\"")
	for i, turn := range plays(t, script, Conversation{Tools: allTools}, "ok", 40) {
		if !strings.Contains(turn, "again") {
			t.Fatalf("turn %d: %s", i, turn)
		}
	}
}

func TestEditStepReadsTheFileFirst(t *testing.T) {
	script := parse(t, "[[step]]\nedit = { path = \"x\", old = \"a\", new = \"b\" }\nloop = 2")
	want := []string{
		` -> read {"filePath":"x"}`,
		` -> edit {"filePath":"x","newString":"b","oldString":"a"}`,
		` -> read {"filePath":"x"}`,
		` -> edit {"filePath":"x","newString":"b","oldString":"a"}`,
		"Done.",
	}
	if diff := cmp.Diff(want, plays(t, script, Conversation{Tools: allTools}, "ok", 9)); diff != "" {
		t.Error(diff)
	}
}

func TestStepWithoutAToolIsSkipped(t *testing.T) {
	script := parse(t, "[[step]]\nrun = \"x\"\n[[step]]\nwrite = { path = \"f\", content = \"c\" }")
	want := []string{` -> write {"content":"c","filePath":"f"}`, "Done."}
	if diff := cmp.Diff(want, plays(t, script, Conversation{Tools: []Tool{writeTool}}, "ok", 9)); diff != "" {
		t.Error(diff)
	}
}

func TestFailStepComesInOrderAndRepeats(t *testing.T) {
	script := parse(t, "[[step]]\nrun = \"x\"\n[[step]]\nfail = { status = 429 }")
	want := []string{` -> bash {"command":"x"}`, "Too Many Requests"}
	if diff := cmp.Diff(want, plays(t, script, Conversation{Tools: allTools}, "ok", 9)); diff != "" {
		t.Error(diff)
	}
}

func TestToolThatTakesAListGetsAList(t *testing.T) {
	words := Tool{Name: "shell", Schema: schema{Properties: map[string]schema{"command": {Type: "array"}}}}
	got := plays(t, parse(t, "[[step]]\nrun = \"x y\""), Conversation{Tools: []Tool{words}}, "ok", 1)
	if want := ` -> shell {"command":["bash","-c","x y"]}`; got[0] != want {
		t.Errorf("%s, want %s", got[0], want)
	}
}

func TestOtherRequiredArgumentsAreFilledIn(t *testing.T) {
	var strict schema
	text := `{"type":"OBJECT","properties":{"command":{"type":"STRING"},"description":{"type":["string","null"]},
		"level":{"type":"INTEGER"},"mode":{"enum":["safe","fast"]},"more":{"anyOf":[{"type":"boolean"}]},"other":{"type":"string"}},
		"required":["command","description","level","mode","more"]}`
	if err := json.Unmarshal([]byte(text), &strict); err != nil {
		t.Fatal(err)
	}
	c := Conversation{Tools: []Tool{{Name: "Bash", Schema: strict}}}
	got := plays(t, parse(t, "[[step]]\nrun = \"x\""), c, "ok", 1)
	want := ` -> Bash {"command":"x","description":"as the script says","level":1,"mode":"safe","more":false}`
	if got[0] != want {
		t.Errorf("%s, want %s", got[0], want)
	}
}

func TestRunningCodexCommandIsPolled(t *testing.T) {
	tools := []Tool{tool("exec_command", "cmd"), tool("write_stdin", "session_id", "chars")}
	script := parse(t, "[[step]]\nrun = \"slow\"\n[[step]]\nrun = \"next\"")
	c := Conversation{Tools: tools, Results: []string{"Process running with session ID 42\nOutput:\n"}}
	turn, err := play(script, c)
	if err != nil || turn.Call == nil || string(turn.Call.Args) != `{"chars":"","session_id":42}` {
		t.Fatalf("while it runs: %+v, %v", turn, err)
	}
	c.Results = append(c.Results, "Process exited with code 0\n")
	if turn, err = play(script, c); err != nil || !strings.Contains(string(turn.Call.Args), "next") {
		t.Errorf("after it ended: %+v, %v", turn, err)
	}
}

func TestPromptCanContainAScript(t *testing.T) {
	block := "Please.\n```aibox-script\n[[step]]\nrun = \"mine\"\n```\nThanks."
	for name, test := range map[string]struct {
		prompts []string
		want    string
	}{
		"a block":                {[]string{block}, "mine"},
		"a name":                 {[]string{"do [[script default]] now"}, "hello.txt"},
		"the last of two":        {[]string{"[[script demo]] or " + block}, "mine"},
		"the last the other way": {[]string{block + "[[script default]]"}, "hello.txt"},
		"the last prompt":        {[]string{block, "[[script default]]"}, "hello.txt"},
		"an earlier prompt":      {[]string{block, "go on"}, "mine"},
		"none":                   {[]string{"[[step]] [[script]]"}, "server"},
	} {
		c := Conversation{Tools: allTools, Prompts: test.prompts}
		turn, err := play(parse(t, "[[step]]\nrun = \"server\""), c)
		if err != nil || turn.Call == nil || !strings.Contains(string(turn.Call.Args), test.want) {
			t.Errorf("%s: %+v, %v, want %s", name, turn, err, test.want)
		}
	}
}

func TestInvalidScriptInAPromptIsReported(t *testing.T) {
	for _, prompt := range []string{"```aibox-script\n[[step]]\nruns = 1\n```", "[[script nothing]]"} {
		if turn, err := play(Script{}, Conversation{Tools: allTools, Prompts: []string{prompt}}); err == nil {
			t.Errorf("%q: %+v", prompt, turn)
		}
	}
}

func TestNewPromptRestartsTheScriptButAFrameDoesNot(t *testing.T) {
	c := Conversation{Tools: allTools}
	c.addPrompt("do it")
	c.addResult("ok")
	for _, frame := range []string{
		"<system-reminder>\nmind\n</system-reminder>", "<environment_context>x</environment_context> <b>y</b>", " ",
	} {
		if c.addPrompt(frame); len(c.Results) != 1 {
			t.Errorf("%q started again", frame)
		}
	}
	for _, prompt := range []string{"<b>bold</b> request", "1 < 2", "<a>", "more"} {
		c.Results = []string{"ok"}
		if c.addPrompt(prompt); len(c.Results) != 0 {
			t.Errorf("%q did not start again", prompt)
		}
	}
}

func TestWorkingDirectoryIsReadOnlyFromKnownPhrases(t *testing.T) {
	for text, want := range map[string]string{
		"<env>\n  Working directory: /a b/c\n":                 "/a b/c",
		" - Primary working directory: /w/\n":                  "/w",
		"<cwd>/w</cwd>":                                        "/w",
		"I'm currently working in the directory: /w\nFolders:": "/w",
		"- **Workspace Directories:**\n  - /w\n- **Temp":       "/w",
		"use the working directory: /etc":                      "",
		"the directory is /etc":                                "",
		"Working directory: relative":                          "",
		"":                                                     "",
	} {
		if got := (Conversation{System: text}).Workdir(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRequestsWithoutToolsGetText(t *testing.T) {
	script := parse(t, "name = \"x\"\n[[step]]\nwrite = { path = \"f.txt\", content = \"c\" }\n"+
		"[[step]]\nedit = { path = \"g.txt\", old = \"a\", new = \"b\" }")
	shape := readSchema([]byte(`{"type":"OBJECT","properties":{"why":{"type":"STRING"},"score":{"type":"INTEGER"}}}`))
	for name, test := range map[string]struct {
		c    Conversation
		want string
	}{
		"a title":        {Conversation{System: "make a title"}, "Scripted task: x"},
		"a schema":       {Conversation{Schema: &shape}, `{"score":1,"why":"as the script says"}`},
		"aider, whole":   {Conversation{System: "every *file listing* must"}, "f.txt\n```\nc\n```\n"},
		"aider, diff":    {Conversation{System: "a *SEARCH/REPLACE block*"}, "f.txt\n```\n<<<<<<< SEARCH\n=======\nc\n>>>>>>> REPLACE\n```\n"},
		"aider, an edit": {Conversation{System: "a *SEARCH/REPLACE block*"}, "g.txt\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n"},
		"a memory agent": {Conversation{System: "You are the memory extraction agent", Tools: allTools}, "Scripted task: x"},
	} {
		turn, err := play(script, test.c)
		if err != nil || turn.Call != nil || !strings.Contains(turn.Text, test.want) {
			t.Errorf("%s: %+v, %v, want %q", name, turn, err, test.want)
		}
	}
}

func TestScriptOfTextsAnswersAPlainChat(t *testing.T) {
	turn, err := play(parse(t, "[[step]]\nsay = \"Hello.\""), Conversation{})
	if err != nil || turn.Text != "Hello." {
		t.Errorf("%+v, %v", turn, err)
	}
}
