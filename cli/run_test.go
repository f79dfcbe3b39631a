package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/app/run"
	"aibox/internal/fault"
)

func noInput(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestThePromptComesFromTheFlagTheFileOrTheInput(t *testing.T) {
	a, _, _ := testApp(t)
	file := filepath.Join(t.TempDir(), "task.md")
	if err := os.WriteFile(file, []byte("from the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := requestOf(t, a, "run", "--prompt", "from the flag").Prompt; got != "from the flag" {
		t.Errorf("got %q", got)
	}
	if got, err := a.readPromptFile(t.Context(), file); got != "from the file" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	a.in = noInput(t)
	if got, err := a.readTask(t.Context()); got != "" || err != nil {
		t.Errorf("an empty input gave %q, %v", got, err)
	}
	for _, read := range []func() (string, error){func() (string, error) { return a.readTask(t.Context()) }, func() (string, error) { return a.readPromptFile(t.Context(), "-") }} {
		input, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		a.in = input
		if got, err := read(); got != "from the file" || err != nil {
			t.Errorf("standard input gave %q, %v", got, err)
		}
		_ = input.Close()
	}
}

func TestAPromptThatCannotBeReadIsAUsageFault(t *testing.T) {
	a, _, _ := testApp(t)
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte(strings.Repeat("x", run.MaxPrompt+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"--prompt-file no/such/file", "--prompt-file " + long, "--prompt-file x --prompt y", "--set verbosity"} {
		if err := a.execute(t.Context(), strings.Fields("run codex "+line)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s gives %v", line, err)
		}
	}
}
