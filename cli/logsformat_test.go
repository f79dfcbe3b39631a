package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
	"aibox/agents/conversation"
	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/golden"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/output"
)

// codexCommand is the start of an event in codexOutput before which the network was accessed.
const codexCommand = `{"type":"item.started",`

// codexOutput is output of Codex in its event format.
const codexOutput = `{"type":"thread.started","thread_id":"x"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I look.\n` + "```" + `\n"}}
` + codexCommand + `"item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'go test'","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'go test'","aggregated_output":"FAIL \u001b]0;x\n","exit_code":1,"status":"failed"}}
{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":2}}
`

// storeOutput stores a session whose agent printed text.
func storeOutput(t *testing.T, printed agents.Output, interactive bool, text string) {
	t.Helper()
	storedSession(t, "0dq4f-codex", time.Now())
	for name, value := range map[string]any{
		"spec.json":  session.Spec{ID: "0dq4f-codex", Created: time.Now(), Agent: "codex", Prompt: "make it pass", Interactive: interactive},
		"state.json": session.State{Phase: session.Ended, Output: printed, Result: &session.Result{}},
	} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sessionFolder("0dq4f-codex"), name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) { recordOutput(t, text) })
}

// recordOutput records the agent's output in pieces, with a notice, and network accesses between
// them in the session's log, each a second later.
func recordOutput(t *testing.T, text string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := audit.Open(filepath.Join(sessionFolder("0dq4f-codex"), "audit.jsonl"))
	must(err)
	access := func(kind audit.Type, data any) {
		t.Helper()
		time.Sleep(time.Second)
		_, err := log.Append(kind, data)
		must(err)
	}
	record, err := output.NewRecorder(sessionFolder("0dq4f-codex"))
	must(err)
	for len(text) > 0 {
		if strings.HasPrefix(text, codexCommand) {
			access(audit.ModelAnswered, auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Model: "gpt-5.2", Status: 200, Input: 12_345, Output: 678, Millis: 4321, Cost: 0.0123})
			access(audit.DNSRefused, audit.Query{Name: "escape.example", Reason: "outside names\x1b are not resolved"})
			access(audit.EgressAllowed, audit.Egress{Host: "pkg.example.org", Port: 443})
		}
		n := min(len(text), 100)
		if at := strings.Index(text, codexCommand); at > 0 {
			n = min(n, at)
		}
		time.Sleep(time.Second)
		must(record.Append(output.Stdout, []byte(text[:n])))
		text = text[n:]
	}
	must(record.Append(output.Notice, []byte("a notice\n")))
	access(audit.ModelAnswered, auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Model: "gpt-5.2", Status: 429, Millis: 30, Outcome: auditlog.Busy, Reason: "slower"})
	must(record.Close())
	must(log.Close())
}

// logs runs `aibox logs` with arguments, and returns its standard output and standard error.
func logs(t *testing.T, printed agents.Output, args string) (out, errOut string) {
	t.Helper()
	a, stdout, stderr := testApp(t)
	storeOutput(t, printed, false, codexOutput)
	if code := a.perform(t.Context(), strings.Fields("logs 0dq4f "+args)); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return stdout.String(), stderr.String()
}

func TestLogsShowEventsAsTextUnlessTheUserChoseThem(t *testing.T) {
	events, chosen := agents.Output{Format: conversation.Codex}, agents.Output{Format: conversation.Codex, Chosen: true}
	out, errOut := logs(t, events, "")
	if out != "I look.\n```\n" {
		t.Errorf("the messages are %q", out)
	}
	if want := "→ $ go test\n  ✗ exit code 1: FAIL x\n"; !strings.HasPrefix(errOut, "→ $ go test\n  ✗ exit code 1: FAIL") || strings.Contains(errOut, "\x1b") {
		t.Errorf("the work is %q, not %q", errOut, want)
	}
	if out, _ = logs(t, chosen, ""); out != codexOutput {
		t.Errorf("chosen events are printed as %q", out)
	}
	if out, _ = logs(t, chosen, "--format text"); out != "I look.\n```\n" {
		t.Errorf("as text they are %q", out)
	}
	if out, _ = logs(t, events, "--format raw"); out != codexOutput {
		t.Errorf("raw they are %q", out)
	}
}

func TestLogsAsEventsHaveOneLineEach(t *testing.T) {
	out, _ := logs(t, agents.Output{Format: conversation.Codex}, "--format json")
	var kinds []string
	for line := range strings.Lines(out) {
		var e conversation.Event
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, string(e.Kind))
		if e.Kind == conversation.Call && (e.Command != "go test" || !strings.HasPrefix(codexOutput[e.Offset:], `{"type":"item.started"`)) {
			t.Errorf("the call is %+v", e)
		}
	}
	if got := strings.Join(kinds, " "); got != "start message model refused allowed call result usage end model" || strings.Contains(out, "\x1b") {
		t.Errorf("the events are %s:\n%s", got, out)
	}
	golden.Check(t, "logs.jsonl", out)
}

func TestLogsAsMarkdownQuoteWhatTheAgentWrote(t *testing.T) {
	out, _ := logs(t, agents.Output{Format: conversation.Codex}, "--format markdown")
	for _, want := range []string{
		"# Session `0dq4f-codex`\n", "## User\n\n```markdown\nmake it pass\n```\n", "## Agent\n\n````markdown\nI look.\n```\n````\n",
		"### Command\n\n```sh\ngo test\n```\n", "exit code 1, of `$ go test`:\n\n```\nFAIL \\x1b]0;x\n```\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	golden.Check(t, "logs.md", out)
}

// A player writes the text of a recording to the user's terminal as it is.
func TestARecordingHasNoControlSequencesThatHarmATerminal(t *testing.T) {
	const hostile = "\x1b]52;c;aGk=\x07\x1b]0;title\x07\x1b]8;;http://host.example\x1b\\link\x1b[6n\x1b[?1003h\x1b[?2004h\x1bPq\x1b\\\u009b5n done\n"
	event, err := json.Marshal(map[string]any{"type": "item.completed", "item": map[string]any{"type": "agent_message", "text": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		printed     agents.Output
		interactive bool
		text        string
	}{
		"text":              {agents.Output{}, false, hostile},
		"events":            {agents.Output{Format: conversation.Codex}, false, string(event) + "\n"},
		"an own terminal":   {agents.Output{}, true, hostile},
		"a terminal's mode": {agents.Output{}, true, "\x1b[?1000h\x1b[?1006h\x1b[?1004h\x1b[?1h done"},
	} {
		t.Run(name, func(t *testing.T) {
			a, stdout, _ := testApp(t)
			storeOutput(t, c.printed, c.interactive, c.text)
			if err := a.execute(t.Context(), strings.Fields("logs 0dq4f --format cast")); err != nil {
				t.Fatal(err)
			}
			played := ""
			for line := range strings.Lines(stdout.String()) {
				var event []any
				if json.Unmarshal([]byte(line), &event) == nil {
					played += event[2].(string)
				}
			}
			for _, harm := range []string{"\x1b]", "\x1b[6n", "\x1b[?1", "\x1b[?2004", "\x1bP", "\u009b", "\x1b="} {
				if strings.Contains(played, harm) {
					t.Errorf("it plays %q", played)
				}
			}
			if !strings.Contains(played, "done") {
				t.Errorf("it plays only %q", played)
			}
		})
	}
}

func TestARecordingOfATerminalShowsItsPicturesInOrder(t *testing.T) {
	drawn := newCastScreen(screen.Size{Rows: 3, Cols: 20})
	begun := time.Unix(1, 0)
	if picture, _ := drawn.add([]byte("one"), begun); len(picture) > 0 {
		t.Errorf("%q is shown before anything was drawn", picture)
	}
	if picture, _ := drawn.add([]byte("\r\ntwo"), begun.Add(castFrame/2)); !strings.Contains(string(picture), "one") {
		t.Errorf("the first picture is %q", picture)
	}
	if picture, _ := drawn.add([]byte("\r\nthree"), begun.Add(castFrame)); len(picture) > 0 {
		t.Errorf("%q is a picture too soon", picture)
	}
	picture, at := drawn.add(nil, begun.Add(time.Second))
	if !strings.Contains(string(picture), "three") || !at.Equal(begun.Add(castFrame)) {
		t.Errorf("at %v the picture is %q", at, picture)
	}
	if last := string(drawn.end()); strings.Contains(last, "three") || !strings.HasSuffix(last, "\x1b[?25h\r\n") {
		t.Errorf("it ends with %q", last)
	}
}

func TestLogsAsCastCanBePlayed(t *testing.T) {
	out, _ := logs(t, agents.Output{}, "--format cast")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var header output.CastHeader
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 || header.Width != 80 || header.Height != 24 {
		t.Errorf("the header is %s, %v", lines[0], err)
	}
	var played strings.Builder
	last := 0.0
	for _, line := range lines[1:] {
		var event []any
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 || event[1] != "o" {
			t.Fatalf("the event is %s, %v", line, err)
		}
		at := event[0].(float64)
		if at < last {
			t.Errorf("%s comes after %f", line, last)
		}
		last = at
		played.WriteString(event[2].(string))
	}
	if want := strings.ReplaceAll(codexOutput+"! a notice\n", "\n", "\r\n"); played.String() != want {
		t.Errorf("it plays %q", played.String())
	}
	out, _ = logs(t, agents.Output{Format: conversation.Codex}, "--format cast")
	if !strings.Contains(out, `→ $ go test\r\n`) || strings.Contains(out, "item.started") {
		t.Errorf("events are played as\n%s", out)
	}
}

func TestLogsRefusesFormatsThatContradictOtherFlags(t *testing.T) {
	for _, line := range []string{
		"logs --format yaml x", "logs --format json --json x", "logs --format text --raw x", "logs --format text --screen x", "logs --format markdown -f x",
		"logs --format cast --follow x",
	} {
		a, _, _ := testApp(t)
		if err := a.execute(t.Context(), strings.Fields(line)); fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 || !strings.Contains(err.Error(), "--format") {
			t.Errorf("%s gives %v", line, err)
		}
	}
	for _, format := range []string{"json", "markdown"} {
		a, _, _ := testApp(t)
		storeOutput(t, agents.Output{}, true, "a screen")
		err := a.execute(t.Context(), strings.Fields("logs 0dq4f --format "+format))
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "interactive") {
			t.Errorf("%s of a terminal gives %v", format, err)
		}
	}
}
