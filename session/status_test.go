package session

import (
	"testing"
)

func TestTheStatusIsThePhaseAndThenWhatBecameOfTheWork(t *testing.T) {
	for _, c := range []struct {
		want  Status
		open  bool
		brief Brief
	}{
		{StatusStarting, false, Brief{Phase: Preparing}},
		{StatusRunning, false, Brief{Phase: Running, Changed: true}},
		{StatusAsks, false, Brief{Phase: Running, Waiting: 1}},
		{StatusEnding, false, Brief{Phase: Ending, Waiting: 1}},
		{StatusVerifying, false, Brief{Phase: Verifying}},
		{StatusToReview, true, Brief{Phase: Ended, Changed: true}},
		{StatusFailed, true, Brief{Phase: Ended, Changed: true, Failed: true}},
		{StatusFailed, false, Brief{Phase: Ended, Failed: true}},
		{StatusUnchanged, false, Brief{Phase: Ended}},
		{StatusPartly, true, Brief{Phase: Ended, Changed: true, Review: PartlyAccepted}},
		{StatusAccepted, false, Brief{Phase: Ended, Changed: true, Review: Accepted, Failed: true}},
		{StatusDiscarded, false, Brief{Phase: Ended, Changed: true, Review: Discarded}},
		{StatusContinued, false, Brief{Phase: Ended, Changed: true, ContinuedBy: "0other", Review: PartlyAccepted}},
	} {
		if got := c.brief.Status(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.brief, got, c.want)
		}
		if got := c.brief.Open(); got != c.open {
			t.Errorf("%+v: open %v", c.brief, got)
		}
	}
}
