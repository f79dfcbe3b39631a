package cli

import (
	"errors"
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
	template := feedbackTemplate(of, open, false, "")
	kept := unsentText{filepath.Join(t.TempDir(), "unsent.md"), "S"}
	check := func(what, want string) {
		t.Helper()
		if got, err := kept.read(); got != want || err != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	failed := errors.New("no")
	send := func(text string, started bool, err error) error {
		return kept.whileUnsent(text, aboveScissors(template), func() (bool, error) { return started, err })
	}
	if err := send(aboveScissors(template), false, failed); !errors.Is(err, failed) || strings.Contains(err.Error(), "kept") {
		t.Errorf("a text that was not changed: %v", err)
	}
	check("a text that was not changed", "")
	if err := send("make it blue", false, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "your text is kept, and S opens it again") {
		t.Errorf("a start that fails: %v", err)
	}
	check("a start that fails", "make it blue")
	if next := feedbackTemplate(of, open, false, "make it blue"); !strings.HasPrefix(next, "make it blue\n"+scissors) || !strings.Contains(next, "was not sent") {
		t.Errorf("the next editor shows %q", next)
	}
	if err := send("make it red", true, failed); !errors.Is(err, failed) {
		t.Errorf("a session whose end is reported: %v", err)
	}
	check("after a start", "")
	kept.file = filepath.Join(kept.file, "missing", "unsent.md")
	if err := send("make it green", false, failed); !errors.Is(err, failed) || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a text that cannot be kept: %v", err)
	}
}
