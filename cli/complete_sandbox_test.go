package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// storedSandbox writes the record of a sandbox of the user, below HOME.
func storedSandbox(t *testing.T, id, name, phase string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("HOME"), ".local/state/aibox/sessions", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf(`{"id": %q, "created": "2026-01-02T03:04:05Z", "agent": "sandbox", "network": "none",
		"sandbox": {"tenant": "local", "template": "code", "name": "%s", "user": "user"}}`, id, name)
	for name, text := range map[string]string{"spec.json": spec, "state.json": fmt.Sprintf(`{"phase": %q}`, phase)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIDsOfSandboxesAreCompleted(t *testing.T) {
	run := volumeApp(t)
	storedSandbox(t, "0dq4f-sandbox", "first", "running")
	storedSandbox(t, "0dq4g-sandbox", `\u001b[31m`, "running")
	storedSandbox(t, "0dq4h-sandbox", "gone", "ended")
	storedSession(t, "0dq4i-shell", time.Now())
	const first, second = "0dq4f-sandbox\tcode first\n", "0dq4g-sandbox\tcode \\x1b[31m\n"
	for line, want := range map[string]string{
		"rm 0dq4g-sandbox 0":      first + ":4\n",
		"exec 0":                  second + first + ":4\n",
		"exec 0dq4f-sandbox 0":    ":4\n",
		"cp 0":                    "0dq4g-sandbox:\tcode \\x1b[31m\n0dq4f-sandbox:\tcode first\n:2\n",
		"cp 0dq4f-sandbox:/x 0":   ":0\n",
		"snapshots rm 0":          ":4\n",
		"create --snapshot snap-": ":4\n",
	} {
		if out, _, err := run("__complete sandbox " + line); err != nil || out != want {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	for _, command := range []string{"extend", "pause", "resume", "network", "ports", "open", "shell", "get", "snapshot", "fork"} {
		if out, _, err := run("__complete sandbox " + command + " 0"); err != nil || out != second+first+":4\n" {
			t.Errorf("%s: %q, %v", command, out, err)
		}
	}
}
