package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

// storedFeedback records what is stored.
type storedFeedback struct{ calls []string }

func (s *storedFeedback) Comment(_ context.Context, _ session.ID, c feedback.Comment) (feedback.Comment, error) {
	s.calls = append(s.calls, "comment")
	return c, nil
}

func (s *storedFeedback) Reject(context.Context, session.ID, []review.HunkID, string) error {
	s.calls = append(s.calls, "reject")
	return nil
}

func (s *storedFeedback) Unreject(context.Context, session.ID, []review.HunkID) error {
	s.calls = append(s.calls, "unreject")
	return nil
}

func TestADryRunKeepsNoFeedback(t *testing.T) {
	for _, dry := range []bool{false, true} {
		a, _, errOut := testApp(t)
		prompt := ask(t, threeFiles(), "c\nwhy?\nr\nno\nq\n")
		if len(prompt.comments)+len(prompt.draft.Rejections()) != 2 {
			t.Fatalf("%d comments and %d rejections were given: %v\n%s", len(prompt.comments), len(prompt.draft.Rejections()), prompt.err, &prompt.out)
		}
		var stored storedFeedback
		o := acceptOptions{cli: a, dryRun: dry}
		if err := o.keepFeedback(t.Context(), &stored, session.Session{}, prompt.hunkPrompt); err != nil {
			t.Fatal(err)
		}
		want := []string{"comment", "reject"}
		if dry {
			want = nil
		}
		if !slices.Equal(stored.calls, want) || dry != strings.Contains(errOut.String(), "not kept") {
			t.Errorf("dry %t: stored were %q, and it says %q", dry, stored.calls, errOut)
		}
	}
}
