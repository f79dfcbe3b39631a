package supervisor

import (
	"fmt"

	"aibox/audit"
	"aibox/session"
)

// limits end the session when they are reached, and ask the user before.
type limits struct {
	*sandbox
	timeLimit countdown
	idle      idleLimit
	output    outputLimit
	requests  requestQueue
	access    accessQuestions
	// pauseAtLimit pauses the sandbox in place of ending it; it is nil if that was not
	// requested.
	pauseAtLimit  func()
	warnedOfTasks bool // of processes near their limit; belongs to the goroutine that reads the lifeline
}

// pausesAtLimit pauses a sandbox at the end of its time, if that was requested.
func (s *limits) pausesAtLimit() bool {
	if s.pauseAtLimit == nil {
		return false
	}
	go s.pauseAtLimit()
	return true
}

// askToRaise warns the user that a limit is near, and asks whether to raise it. The agent
// continues meanwhile. near describes the current use, by is the increase after a yes, and
// raise raises the limit and returns the new one. A verification, whose session belongs to
// another one, does not ask.
func (s *limits) askToRaise(what, near, by string, raise func() (limit string)) {
	const end = "at the limit the session is ended, and its work is kept"
	if s.launch.Spec.Verifies != nil || s.launch.Spec.IsSandbox() {
		s.postNotice(near + "; " + end)
		return
	}
	r, asked := s.ask(session.Request{
		What:     what,
		Question: fmt.Sprintf("Session %s is near a limit: %s. Without an answer it is ended at the limit; its work so far is kept.", s.id, near),
		Yes:      fmt.Sprintf("allow %s more", by), No: "let it end",
	}, func(answer session.Answer) error {
		if answer.Allows() {
			s.audit(audit.LimitExtended, map[string]string{"limit": what, "by": by, "value": raise()})
		}
		return nil
	})
	if asked {
		s.postNotice(fmt.Sprintf("%s; %s; `aibox answer %s %d yes` allows %s more", near, end, s.id, r.ID, by))
	}
}
