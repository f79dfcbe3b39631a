package summary

import (
	"testing"

	"aibox/session"
)

func TestStatusFollowsThePhaseAndThenTheReview(t *testing.T) {
	for _, c := range []struct {
		want  Status
		open  bool
		brief Summary
	}{
		{StatusStarting, false, Summary{Phase: session.Preparing}},
		{StatusRunning, false, Summary{Phase: session.Running, Changed: true}},
		{StatusAsks, false, Summary{Phase: session.Running, Waiting: 1}},
		{StatusWaiting, false, Summary{Phase: session.Running, Prompting: true}},
		{StatusAsks, false, Summary{Phase: session.Running, Waiting: 1, Prompting: true}},
		{StatusEnding, false, Summary{Phase: session.Ending, Prompting: true}},
		{StatusEnding, false, Summary{Phase: session.Ending, Waiting: 1}},
		{StatusVerifying, false, Summary{Phase: session.Verifying}},
		{StatusToReview, true, Summary{Phase: session.Ended, Changed: true}},
		{StatusFailed, true, Summary{Phase: session.Ended, Changed: true, Failed: true}},
		{StatusFailed, false, Summary{Phase: session.Ended, Failed: true}},
		{StatusUnchanged, false, Summary{Phase: session.Ended}},
		{StatusPartly, true, Summary{Phase: session.Ended, Changed: true, Review: session.PartlyAccepted}},
		{StatusAccepted, false, Summary{Phase: session.Ended, Changed: true, Review: session.Accepted, Failed: true}},
		{StatusDiscarded, false, Summary{Phase: session.Ended, Changed: true, Review: session.Discarded}},
		{StatusContinued, false, Summary{Phase: session.Ended, Changed: true, ContinuedBy: "0other", Review: session.PartlyAccepted}},
	} {
		if got := c.brief.Status(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.brief, got, c.want)
		}
		if got := c.brief.Open(); got != c.open {
			t.Errorf("%+v: open %v", c.brief, got)
		}
	}
}
