package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// storedSession stores a session that has ended, below HOME.
func storedSession(t *testing.T, id string, created time.Time) {
	t.Helper()
	dir := filepath.Join(os.Getenv("HOME"), ".local/state/aibox/sessions", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf(`{"id": %q, "created": %q, "agent": "shell", "network": "none"}`, id, created.Format(time.RFC3339))
	state := "{\n  \"phase\": \"ended\",\n  \"result\": {\"exit_code\": 0}}"
	for name, text := range map[string]string{"spec.json": spec, "state.json": state} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The id of an earlier version may sort after that of a newer session.
func TestSessionsAreListedNewestFirst(t *testing.T) {
	a, out, _ := testApp(t)
	now := time.Now().UTC().Truncate(time.Second)
	storedSession(t, "0dq4h-codex", now.Add(-3*time.Hour))
	storedSession(t, "0dq4f-shell", now.Add(-time.Hour))
	storedSession(t, "0dq4g-aider", now.Add(-2*time.Hour))
	want := []string{"0dq4f-shell", "0dq4g-aider", "0dq4h-codex"}
	if err := a.execute(t.Context(), []string{"ls"}); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q, not %s", i+1, line, want[i])
		}
	}
	out.Reset()
	var listed []struct{ ID string }
	if err := a.execute(t.Context(), []string{"ls", "--json"}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &listed); err != nil {
		t.Fatal(err)
	}
	for i := range listed {
		if listed[i].ID != want[i] {
			t.Errorf("number %d in JSON is %s, not %s", i, listed[i].ID, want[i])
		}
	}
}
