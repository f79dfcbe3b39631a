package network

import (
	"fmt"
	"testing"

	"aibox/session/auditlog"
)

func TestALongListShowsWhichRequestsAreHidden(t *testing.T) {
	s := &scene{}
	for i := range 70 {
		s.asked(i, auditlog.Access{Session: "0aaaa-codex", What: "tcp", Target: fmt.Sprintf("192.0.2.%d:443", i), Why: "the sandbox has no route out"})
	}
	p := newUser(t, s, "", 80, 24)
	p.Press("home")
	p.Scrolls(70, "end")
}
