package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"

	"github.com/spf13/cobra"
)

// failed is the JSON of a command that failed.
type failed struct {
	Error *struct {
		Kind     string
		Message  string
		Hints    []string
		ExitCode int `json:"exit_code"`
		Session  string
	}
}

func TestEveryCommandWithJSONPrintsItsErrorsAsJSON(t *testing.T) {
	a, _, _ := testApp(t)
	var commands [][]string
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Flags().Lookup("json") != nil || c.InheritedFlags().Lookup("json") != nil {
			commands = append(commands, strings.Fields(c.CommandPath())[1:])
		}
	}
	visit(a.root())
	if len(commands) < 17 {
		t.Fatalf("only %d commands have --json: %q", len(commands), commands)
	}
	for _, path := range commands {
		for _, wrong := range [][]string{{"--json", "--no-such-flag"}, {"--json=true", "--rootful=perhaps"}} {
			line := append(append([]string{}, path...), wrong...)
			a, out, errOut := testApp(t)
			code := a.perform(t.Context(), line)
			var got failed
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Error == nil {
				t.Errorf("%q printed %q: %v", line, out.String(), err)
				continue
			}
			if code != 2 || got.Error.ExitCode != code || got.Error.Kind != "usage" || got.Error.Message == "" || len(got.Error.Hints) == 0 {
				t.Errorf("%q exits with %d and prints %+v", line, code, got.Error)
			}
			if !strings.Contains(errOut.String(), "aibox: ") {
				t.Errorf("%q says %q", line, errOut.String())
			}
		}
	}
}

func TestAnErrorInJSONNamesItsSession(t *testing.T) {
	for line, want := range map[string]failed{
		"diff --json 0dq4":    {},
		"accept 0dq4f --json": {},
	} {
		a, out, _ := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		_ = a.perform(t.Context(), strings.Fields(line))
		if err := json.Unmarshal(out.Bytes(), &want); err != nil || want.Error == nil || want.Error.Session != "0dq4f-shell" {
			t.Errorf("%q printed %s (%v)", line, out.String(), err)
		}
	}
}

func TestStandardOutputIsOneJSONValueWhateverHappens(t *testing.T) {
	broken := fault.New(fault.Conflict, "no \x1b[31m way").Hint("turn back")
	for _, c := range []struct {
		written string
		err     error
		want    string
	}{
		{"", nil, ""},
		{"", broken, `{"error":{"kind":"conflict","message":"no \u001b[31m way","hints":["turn back"],"exit_code":6}}`},
		{"{\n  \"a\": 1\n}\n", nil, `{"a":1}`},
		{"{\n  \"a\": 1\n}\n", broken, `{"a":1,"error":{"kind":"conflict","message":"no \u001b[31m way","hints":["turn back"],"exit_code":6}}`},
		{"{}\n", errors.New("x"), `{"error":{"kind":"internal","message":"x","exit_code":1}}`},
		{`{"a":{}}` + "\n", errors.New("x"), `{"a":{},"error":{"kind":"internal","message":"x","exit_code":1}}`},
		{"[\n  1\n]\n", broken, "[1]"},
		{`{"long":"` + strings.Repeat("x", 100) + `"}`, nil, `{"long":"` + strings.Repeat("x", 100) + `"}`},
	} {
		for _, size := range []int{1, 3, 15, 16, 17, 1000} {
			var out bytes.Buffer
			result := &jsonOutput{out: &out}
			for rest := []byte(c.written); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := result.Write(rest[:n]); wrote != n || err != nil {
					t.Fatalf("%d, %v", wrote, err)
				}
				rest = rest[n:]
			}
			if err := result.close(c.err, ""); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Compact(&got, out.Bytes()); err != nil && c.want != "" {
				t.Errorf("%q with %v in pieces of %d is %q: %v", c.written, c.err, size, out.String(), err)
			} else if got.String() != c.want {
				t.Errorf("%q with %v in pieces of %d is\n%s, not\n%s", c.written, c.err, size, got.String(), c.want)
			}
		}
	}
}

func TestTheValueOfAnotherFlagDoesNotSelectJSON(t *testing.T) {
	a, out, errOut := testApp(t)
	if code := a.perform(t.Context(), []string{"recover", "--branch", "--json"}); code != 2 || out.Len() > 0 || errOut.Len() == 0 {
		t.Errorf("it exits with %d and prints %q, %q", code, out.String(), errOut.String())
	}
	if wantsJSON([]string{"run", "shell", "--", "tool", "--json"}) || wantsJSON([]string{"ls", "--json=false"}) {
		t.Error("what the agent gets, or --json=false, asks for JSON")
	}
}

func TestCommandsThatChangeSomethingPrintItAsJSON(t *testing.T) {
	testApp(t)
	t.Setenv("XDG_CONFIG_HOME", "")
	storedSession(t, "0dq4f-shell", time.Now())
	for name, text := range map[string]string{
		"spec.json":     `{"id": "0dq4f-shell", "created": "2026-11-23T15:00:00Z", "agent": "shell", "network": "none", "repository": "/repo"}`,
		"state.json":    `{"phase": "ended", "result": {"exit_code": 0}, "workspace": {"session": "0dq4f-shell", "path": "/nowhere"}}`,
		"feedback.json": `{"comments": [{"number": 1, "text": "add tests", "made": "2026-11-23T15:04:05Z"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(sessionFolder("0dq4f-shell"), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"agents new mybot --json", "template create data --image python:3.12 --json", "template rm data --json", "comment 0dq4f --remove 1 --json",
	} {
		a, out, errOut := testAppAt(t)
		if code := a.perform(t.Context(), strings.Fields(line)); code != 0 || !json.Valid(out.Bytes()) {
			t.Errorf("%s exits with %d and prints %q: %s", line, code, out, errOut)
		}
	}
}
