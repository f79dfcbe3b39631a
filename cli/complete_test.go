package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/store"
	"aibox/session"
)

// completed returns what the shell offers at the end of the line: words without their
// descriptions, of which it filters those that fit, and after them the directive.
func completed(t *testing.T, run func(string) (string, string, error), line string) string {
	t.Helper()
	out, _, err := run("__complete " + line)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(line)
	typed := fields[len(fields)-1]
	var words []string
	for word := range strings.Lines(out) {
		name, _, _ := strings.Cut(strings.TrimSpace(word), "\t")
		if strings.HasPrefix(name, typed) || strings.HasPrefix(name, ":") {
			words = append(words, name)
		}
	}
	return strings.Join(words, " ")
}

func TestIDsOfSessionsAreCompletedWhereTheyFit(t *testing.T) {
	run := volumeApp(t)
	now := time.Now()
	storedSession(t, "0dq4f-shell", now.Add(-2*time.Hour))
	storedSession(t, "0dq4g-shell", now.Add(-time.Hour))
	storedSandbox(t, "0dq4h-sandbox", "", "running")
	for line, want := range map[string]string{
		"diff 0":              "0dq4g-shell 0dq4f-shell 0dq4h-sandbox :36", // the newest first
		"rm 0":                "0dq4g-shell 0dq4f-shell :36",
		"rm 0dq4g-shell 0":    "0dq4f-shell :36",
		"discard 0":           "0dq4g-shell 0dq4f-shell :36",
		"stop 0":              "0dq4h-sandbox :36",
		"exec 0":              "0dq4h-sandbox :36",
		"shell 0":             "0dq4h-sandbox :36",
		"allow 0":             "0dq4h-sandbox :36",
		"extend 0":            "0dq4h-sandbox :36",
		"open 0":              "0dq4h-sandbox :36",
		"cp 0":                "0dq4h-sandbox: :2",
		"cp 0dq4f-shell:/x y": ":0",
		"run --resume 0":      "0dq4g-shell 0dq4f-shell :36",
	} {
		if got := completed(t, run, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestTasksAreCompletedWithoutControlSequences(t *testing.T) {
	run := volumeApp(t)
	a, _, _ := testAppAt(t)
	keptSession(t, a, session.Spec{Agent: "codex", Batch: "b-0dq4f", Prompt: "mend \x1b]52;c;aGk=\a"})
	for _, line := range []string{"compare b", "ls --batch b", "diff 0"} {
		if out, _, err := run("__complete " + line); err != nil || !strings.Contains(out, "0dq4f") || !strings.Contains(out, "mend ") || strings.ContainsAny(out, "\x1b\a") {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
}

func TestValuesOfFlagsAreCompleted(t *testing.T) {
	run := volumeApp(t)
	t.Setenv("AIBOX_TEST_NAME", "1")
	for line, want := range map[string]string{
		"run --agent codex,cl":                 "codex,claude :4",
		"run --agent codex,co":                 "codex,copilot :4", // each agent once
		"run codex --set reasoning-e":          "reasoning-effort= :6",
		"run codex --set reasoning-effort=m":   "reasoning-effort=minimal reasoning-effort=medium :4",
		"run --agent codex --set reasoning-e":  "reasoning-effort= :6",
		"run codex --allow npm,p":              "npm,pip :4",
		"run codex --inference-tools mcp,web-": "mcp,web-search mcp,web-fetch :4",
		"run codex --env AIBOX_TEST_N":         "AIBOX_TEST_NAME :4",
		"run codex --deny x":                   ":4",
		"run codex --mount x":                  ":0", // files
		"run codex --prompt x":                 ":4",
		"sandbox create --allow np":            "npm :4",
		"sandbox network 0dq4f --allow np":     "npm :4",
		"template create data --from c":        "code :4",
		"template rm c":                        ":4", // it is not the user's own
		"serve --warm c":                       "code= claude= codex= copilot= crush= cursor= :6",
		"token create --right read,sess":       "read,sessions :4",
		"token defaults ci --network all":      "allowlist :4",
		"gc --older-than 3":                    "30d :4",
	} {
		if got := completed(t, run, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestTokensAndTenantsAreCompleted(t *testing.T) {
	run := volumeApp(t)
	if got := completed(t, run, "token revoke x"); got != ":4" {
		t.Errorf("without tokens: %q", got)
	}
	var id string
	err := withStore(t.Context(), func(s *store.Store) error {
		_, token, err := s.CreateToken(context.Background(), session.Tenant("ci"), "nightly", []aiboxv1.Right{aiboxv1.Right_RIGHT_READ}, time.Time{})
		id = token.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"token revoke " + id[:1]:  id + " :4",
		"token quota c":           "ci :4",
		"token defaults l":        "local :4",
		"token create --tenant c": "ci :4",
	} {
		if got := completed(t, run, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if out, _, err := run("token revoke none " + id + " neither"); out != id+"\n" || err == nil || !strings.Contains(err.Error(), "neither") {
		t.Fatalf("revoking one of three printed %q, %v", out, err)
	}
	if got := completed(t, run, "token revoke "+id[:1]); got != ":4" {
		t.Errorf("a revoked token: %q", got)
	}
}

// Cobra's script for bash finds no word that has both a comma and a description.
func TestAWordWithACommaHasNoDescription(t *testing.T) {
	for _, line := range []string{"run --agent codex,", "audit --kind dns,", "run codex --allow npm,"} {
		out, _, err := volumeApp(t)("__complete " + line)
		if err != nil || !strings.Contains(out, ",") || strings.Contains(out, "\t") {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
}
