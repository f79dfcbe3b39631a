package scripted

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shell runs a command as an agent would and returns what it printed.
func shell(t *testing.T, dir, command string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestShellWriteKeepsEveryByte(t *testing.T) {
	for name, content := range map[string]string{
		"plain.txt": "x\n", "it's $HOME.txt": "it's `date` $HOME \\n % %s \"q\"\n\n", "-rf": "dash", "deep/er/x": "",
	} {
		dir := t.TempDir()
		if out, err := shell(t, dir, writeCommand(name, content)); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != content {
			t.Errorf("%s: %q, %v, want %q", name, got, err, content)
		}
	}
}

func TestShellEditReplacesTheFirstMatchOrFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "it's.txt")
	before := "a.c $1 'x'\nabc\na.c $1 'x'\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := shell(t, dir, "git init -q . && "+editCommand(Edit{Path: "it's.txt", Old: "a.c $1 'x'\n", New: "$& \\1 'y'\n"}))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "$& \\1 'y'\nabc\na.c $1 'x'\n"
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	if out, err = shell(t, dir, editCommand(Edit{Path: "it's.txt", Old: "nowhere", New: "x"})); err == nil ||
		!strings.Contains(out, "the old text is not there") {
		t.Errorf("%v: %s", err, out)
	}
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("a failed edit changed the file to %q", got)
	}
}

func TestReachCommandReportsItsResultAndSucceeds(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL + "/it's"
	out, err := shell(t, t.TempDir(), reachCommand(url))
	if err != nil || out != "reach: "+url+" answered\n" {
		t.Errorf("a server that answers: %v: %q", err, out)
	}
	server.Close()
	out, err = shell(t, t.TempDir(), reachCommand(url))
	if err != nil || !strings.Contains(out, "reach: "+url+" was refused (curl ended with 7)\n") {
		t.Errorf("a server that is gone: %v: %q", err, out)
	}
	c := Conversation{Results: []string{"Output:\n" + out + "\n<more>\n"}}
	if got := c.lastLine(); got != url+" was refused (curl ended with 7)" {
		t.Errorf("{result} is %q", got)
	}
}

// TestDemoFixesTheSampleProject plays the demo with only a shell, as Codex does, and runs
// the sample's tests before and after.
func TestDemoFixesTheSampleProject(t *testing.T) {
	dir := t.TempDir()
	samples, err := filepath.Glob("sample/*.txt")
	if err != nil || len(samples) != 3 {
		t.Fatalf("the sample has %d files, %v", len(samples), err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(sample), ".txt")
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := shell(t, dir, "git init -q . && git add . && go test ./..."); err == nil {
		t.Fatalf("the sample's tests pass before the demo: %s", out)
	}
	demo, err := Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	edited := false
	for _, step := range demo.Steps {
		if step.Edit == nil {
			continue
		}
		out, err := shell(t, dir, editCommand(*step.Edit))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		edited = true
	}
	if out, err := shell(t, dir, "go test ./..."); err != nil || !edited {
		t.Errorf("the sample's tests fail after the demo: %v: %s", err, out)
	}
	turns := plays(t, demo, Conversation{Tools: []Tool{shellTool}}, "reach: https://example.com/ was refused", 9)
	if len(turns) != 5 || !strings.Contains(turns[3], "The network said: https://example.com/ was refused.") {
		t.Errorf("the demo: %q", turns)
	}
}
