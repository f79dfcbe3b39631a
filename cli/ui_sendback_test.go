package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/feedback"
)

func TestAnEmptyTextReportsWhatWasNotDone(t *testing.T) {
	text := "\n" + scissors + "\n# Write above.\n"
	for fork, want := range map[bool]string{
		true: "the task is empty, so nothing was forked", false: "the feedback is empty, so nothing was sent back",
	} {
		_, err := editedText(text, fork)
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Interrupted {
			t.Errorf("fork %v: %v", fork, err)
		}
	}
	if got, err := editedText("again"+text, true); err != nil || got != "again" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFeedbackIsKeptUntilItIsSent(t *testing.T) {
	kept := unsentText{t.TempDir(), false}
	fork := kept
	fork.fork = true
	of := session.Session{Spec: session.Spec{ID: "0aaaa-codex", Agent: "codex"}}
	if got := kept.read(); got != "" {
		t.Errorf("before anything is written: %q", got)
	}
	if err := kept.write("make it blue\n" + feedbackTemplate(of, feedback.Feedback{}, false, "")); err != nil {
		t.Fatal(err)
	}
	if got := kept.read(); got != "make it blue" {
		t.Errorf("%q", got)
	}
	if got := fork.read(); got != "" {
		t.Errorf("the fork has %q", got)
	}
	if next := feedbackTemplate(of, feedback.Feedback{Comments: make([]feedback.Comment, 1)}, false, kept.read()); !strings.HasPrefix(next, "make it blue\n"+scissors) {
		t.Errorf("the next editor shows %q", next)
	}
	if err := errors.Join(kept.remove(), fork.remove()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(kept.record); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
