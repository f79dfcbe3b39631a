package summary

import (
	"testing"

	"aibox/session"
)

func TestAnObstacleSaysWhyAnActionDoesNotApply(t *testing.T) {
	for _, c := range []struct {
		of   Summary
		need Need
		want string
	}{
		{Summary{Phase: session.Queued}, NeedsWork, "0a has not started yet"},
		{Summary{Phase: session.Running}, NeedsWork, "0a is still running"},
		{Summary{Phase: session.Running, Template: "base"}, NeedsWork, "0a is a sandbox without an agent"},
		{Summary{Phase: session.Running}, NeedsSandbox, "0a is the session of an agent"},
		{Summary{Phase: session.Running, Template: "base", Paused: true}, NeedsSandbox, "0a is paused"},
		{Summary{Phase: session.Ending}, NeedsSandbox, "0a is ending"},
		{Summary{Phase: session.Ended}, NeedsSandbox, "0a has ended"},
		{Summary{Phase: session.Ended}, NeedsWork, "0a changed nothing"},
		{Summary{Phase: session.Ended, Changed: true}, NeedsWork, "the work of 0a waits for a review"},
		{Summary{Phase: session.Ended, Changed: true, Agent: "shell"}, NeedsConversation, "shell has no conversation to continue"},
		{Summary{Phase: session.Ended, Changed: true, ContinuedBy: "0b"}, NeedsWork, "0a is continued by 0b"},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Discarded}, NeedsConversation, "the work of 0a is discarded"},
		{Summary{Phase: session.Ended, Changed: true, Review: session.Accepted}, NeedsWork, "the work of 0a is accepted"},
	} {
		c.of.ID = "0a"
		if got := c.of.Obstacle(c.need); got != c.want {
			t.Errorf("%+v: %q, not %q", c.of, got, c.want)
		}
	}
}
