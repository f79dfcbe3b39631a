package cli

import (
	"testing"

	"aibox/internal/fault"
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
