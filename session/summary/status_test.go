package summary

import (
	"testing"
)

func TestStatusFollowsThePhaseAndThenTheReview(t *testing.T) {
	for _, c := range []struct {
		want  Status
		open  bool
		brief Summary
	}{
		{StatusStarting, false, Summary{Phase: Preparing}},
		{StatusRunning, false, Summary{Phase: Running, Changed: true}},
		{StatusAsks, false, Summary{Phase: Running, Waiting: 1}},
		{StatusWaiting, false, Summary{Phase: Running, Prompting: true}},
		{StatusAsks, false, Summary{Phase: Running, Waiting: 1, Prompting: true}},
		{StatusEnding, false, Summary{Phase: Ending, Prompting: true}},
		{StatusEnding, false, Summary{Phase: Ending, Waiting: 1}},
		{StatusVerifying, false, Summary{Phase: Verifying}},
		{StatusToReview, true, Summary{Phase: Ended, Changed: true}},
		{StatusFailed, true, Summary{Phase: Ended, Changed: true, Failed: true}},
		{StatusFailed, false, Summary{Phase: Ended, Failed: true}},
		{StatusUnchanged, false, Summary{Phase: Ended}},
		{StatusPartly, true, Summary{Phase: Ended, Changed: true, Review: PartlyAccepted}},
		{StatusAccepted, false, Summary{Phase: Ended, Changed: true, Review: Accepted, Failed: true}},
		{StatusDiscarded, false, Summary{Phase: Ended, Changed: true, Review: Discarded}},
		{StatusContinued, false, Summary{Phase: Ended, Changed: true, ContinuedBy: "0other", Review: PartlyAccepted}},
	} {
		if got := c.brief.Status(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.brief, got, c.want)
		}
		if got := c.brief.Open(); got != c.open {
			t.Errorf("%+v: open %v", c.brief, got)
		}
	}
}
