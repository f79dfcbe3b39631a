package dashboard

import (
	"fmt"
	"testing"

	"aibox/session"
	"aibox/session/summary"
)

func TestALongListShowsWhichSessionsAreHidden(t *testing.T) {
	sessions := &fakeSessions{}
	for i := range 70 {
		sessions.briefs = append(sessions.briefs, summary.Summary{ID: session.ID(fmt.Sprintf("0aa%02d-codex", i)), Agent: "codex", Phase: session.Ended})
	}
	p := newUser(t, sessions, 80, 24)
	p.Press("home")
	p.Scrolls(70, "end")
	p.Press("v") // the headings of groups count as no sessions
	p.Scrolls(70, "end")
}
