package attend

import (
	"testing"

	"aibox/session"
	"aibox/ui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestASessionHasTheMarkThatItHasInTheList(t *testing.T) {
	for review, want := range map[session.Review]string{
		session.Accepted: "✓ accepted", session.Discarded: "– discarded", session.PartlyAccepted: "◐ part taken",
	} {
		m := &Model{theme: theme.New(true), session: session.Session{State: session.State{
			Phase: session.Ended, Review: review, Result: &session.Result{Changed: true},
		}}}
		if got := ansi.Strip(m.state()); got != want {
			t.Errorf("%s: %q, not %q", review, got, want)
		}
	}
}
