package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/session"
	"aibox/session/feedback"
)

func TestOnlyTheTextAboveTheScissorsIsSent(t *testing.T) {
	below := "\n" + scissors + "\n# Write above.\n"
	for data, want := range map[string]string{below: "", "again" + below: "again", " two\nlines \n" + below: "two\nlines", "no scissors": "no scissors"} {
		if got := aboveScissors(data); got != want {
			t.Errorf("%q: %q", data, got)
		}
	}
}

func TestFeedbackIsKeptUntilItIsSent(t *testing.T) {
	of := session.Session{Spec: session.Spec{ID: "0aaaa-codex", Agent: "codex"}}
	open := feedback.Feedback{Comments: make([]feedback.Comment, 1)}
	kept := unsentText{filepath.Join(t.TempDir(), "unsent.md"), "S"}
	failed := errors.New("no")
	// send lets an editor insert own at the beginning, and a start end with err.
	send := func(own string, editErr error, started bool, err error) error {
		t.Helper()
		before, readErr := kept.read()
		text, gotErr := kept.edit(feedbackTemplate(of, open, false, before), func(path string) error {
			data, readErr := os.ReadFile(path)
			return errors.Join(readErr, os.WriteFile(path, append([]byte(own), data...), 0o600), editErr)
		})
		if readErr != nil || !errors.Is(gotErr, editErr) || !strings.HasPrefix(text, own) {
			t.Fatalf("%q: %v, %q, %v", own, readErr, text, gotErr)
		}
		return kept.untilSent(text, func() (bool, error) { return started, cmp.Or(gotErr, err) })
	}
	check := func(what, want string) {
		t.Helper()
		if got, err := kept.read(); got != want || err != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if err := send("", nil, false, failed); !errors.Is(err, failed) || strings.Contains(err.Error(), "kept") {
		t.Errorf("a text that was not changed: %v", err)
	}
	check("a text that was not changed", "")
	if err := send("Make it blue. ", nil, false, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "your text is kept, and S opens it again") {
		t.Errorf("a start that fails: %v", err)
	}
	check("a start that fails", "Make it blue. "+offeredFeedback)
	if next := feedbackTemplate(of, open, false, "make it blue"); !strings.HasPrefix(next, "make it blue\n"+scissors) || !strings.Contains(next, "was not sent") {
		t.Errorf("the next editor shows %q", next)
	}
	if err := send("Also red. ", failed, false, nil); !errors.Is(err, failed) || !strings.Contains(err.Error(), "kept") {
		t.Errorf("an editor that fails: %v", err)
	}
	check("an editor that fails", "Also red. Make it blue. "+offeredFeedback)
	if err := send("", nil, true, failed); !errors.Is(err, failed) {
		t.Errorf("a session whose end is reported: %v", err)
	}
	check("after a start", "")
	kept.file = t.TempDir()
	if got, err := kept.read(); err == nil {
		t.Errorf("a file that cannot be read: %q", got)
	}
}
