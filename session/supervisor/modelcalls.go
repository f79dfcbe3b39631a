package supervisor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aibox/agents"
	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/auditlog"
)

// failed reports whether the model did not answer a request while the agent waited.
func failed(c auditlog.ModelCall) bool {
	switch c.Outcome {
	case auditlog.Busy, auditlog.Refused, auditlog.Broken, auditlog.Silent, auditlog.NoAnswer, auditlog.Blank:
		return c.Generates
	default:
		return false
	}
}

// retryAfter returns the time that a busy server asks to wait.
func retryAfter(c auditlog.ModelCall) time.Duration {
	return time.Duration(c.RetryAfter) * time.Millisecond
}

// failureText describes a failed call in a clause.
func failureText(c auditlog.ModelCall) string {
	if wait := retryAfter(c).Round(time.Second); wait > 0 {
		c.RetryAfter = 0
		return fmt.Sprintf("%s (it asks to wait %s)", failureText(c), amount.Span(wait))
	}
	switch {
	case c.Outcome == auditlog.Silent:
		return "no answer from the model for " + formatWait(time.Duration(c.Millis)*time.Millisecond)
	case c.Outcome == auditlog.NoAnswer:
		return fmt.Sprintf("the model server answered %d without an answer: %s", c.Status, c.Error)
	case c.Outcome == auditlog.Blank:
		return "the model ended its answer without text or a tool call"
	case !c.Passed():
		return "the gateway refused a request: " + c.Error
	case c.Status < 300 && c.Reason == "":
		return "the model server broke off its answer"
	case c.Status < 300:
		return "the model server broke off its answer: " + c.Reason
	case c.Error != "":
		return "the model server gave no answer: " + c.Error
	case c.Reason == "":
		return fmt.Sprintf("the model server answered %d", c.Status)
	default:
		return fmt.Sprintf("the model server answered %d: %s", c.Status, c.Reason)
	}
}

// Calls receives the sandbox's requests to the model, from any goroutine.
type Calls struct {
	Began    func()                   // a request for an answer has begun
	Received func()                   // a piece of an answer has arrived; never blocks
	Ended    func(auditlog.ModelCall) // a request, for an answer or not, has ended
}

// modelWatch counts the requests to the model, records them, and ends the session when
// the model fails permanently or reaches a limit.
type modelWatch struct {
	*run
	counters counters
	// destinations counts allowed requests to the egress proxy.
	destinations destinations
	model        modelHealth
	budgets      budgets
	askMore      func(ctx context.Context, limit string, times int64) bool // limits.askForBudget
	keyVariable  string                                                    // Inference.KeyVariable; set before the agent starts
}

// calls receives the gateway's reports on this session's model.
func (s *modelWatch) calls() Calls {
	return Calls{
		Began:    func() { s.open.Add(1); s.model.began() },
		Received: func() { s.noteActivity(); s.model.pieceReceived() },
		Ended: func(call auditlog.ModelCall) {
			if call.Generates {
				s.open.Add(-1)
			}
			s.noteActivity()
			s.modelCalled(call)
		},
	}
}

// modelCalled records one request to the model.
func (s *modelWatch) modelCalled(call auditlog.ModelCall) {
	log, report := s.counters.addCall(call)
	var event session.EventID
	if log {
		event = s.audit(audit.ModelAnswered, call)
	}
	if report {
		s.postNotice(failureText(call))
	}
	if call.Generates {
		s.model.ended(call)
	}
	if !call.Passed() {
		refusal := session.Refusal{What: auditlog.AskedModel, Target: call.Target(), Reason: call.Error, Times: 1}
		if log {
			s.counters.addRefusal(refusal, func(session.Refusal) session.EventID { return event })
		} else {
			s.logRefusal(refusal, audit.ModelAnswered, func() any { return call })
		}
	}
	s.warnOfModelLimits()
	s.reachedModelLimit(call.Limit)
	s.publishing.trigger()
}

// watchModel ends the run when its model is dead. The user at a terminal sees the failure,
// and a command without its own model may work without one.
func (s *modelWatch) watchModel(info agents.Info) {
	if s.launch.Spec.Interactive || len(info.Dialects) == 0 {
		return
	}
	s.model.onDeath(func(last auditlog.ModelCall) {
		s.counters.addUnfinished(last)
		s.end(s.modelFault(info, last, fault.New(fault.AgentFailed, "%s", s.modelDeathText(last))))
	})
}

// modelDeathText explains the end of a run whose model is dead.
func (s *modelWatch) modelDeathText(last auditlog.ModelCall) string {
	trouble := strings.TrimRight(failureText(last), ".!")
	if last.Outcome == auditlog.Silent {
		return trouble
	}
	if last.Outcome == auditlog.Busy {
		model := s.counters.modelCalls()
		return fmt.Sprintf("%s, and aibox waits %s at most for a busy server", trouble, amount.Span(busyTimeout(model.asked > model.failed)))
	}
	return fmt.Sprintf("%s, and %s did not get over it", trouble, s.launch.Spec.Agent)
}

// modelFault adds hints to a failure of the model.
func (s *modelWatch) modelFault(info agents.Info, call auditlog.ModelCall, f *fault.Fault) *fault.Fault {
	list := "`aibox models --inference " + s.launch.Spec.Inference + "`"
	switch {
	case call.Error != "" && call.Outcome == auditlog.Refused:
		f = f.Hint("choose another server with --inference, or another agent; `aibox agents` shows the APIs that each one uses")
	case (call.Status == 401 || call.Status == 403) && s.keyVariable != "":
		f = f.Hint("export %s=…   # a key that may use this model", s.keyVariable)
	case call.Status == 401 || call.Status == 403:
		f = f.Hint("%s shows whether the server answers without a key", list)
	case call.Status == 404:
		f = f.Hint("%s lists the models; the server may also lack the API that %s speaks (%s)", list, info.Title, info.Dialects[0])
	case call.Outcome == auditlog.Silent:
		f = silenceFault(f).Hint("%s shows whether the server is running; its own log may have details", list)
	case call.Outcome == auditlog.Busy:
		f = f.Hint("`%s` continues when the server has room; --inference and --model choose another", session.ResumeCommand(s.id, info.Name))
	case call.Outcome == auditlog.Blank:
		f = f.Hint("%s lists the models; --model chooses another", list)
	case call.Outcome == auditlog.Broken || call.Outcome == auditlog.NoAnswer:
		f = f.Hint("%s shows whether the server is running; its own log may have details", list)
	}
	return f.Hint("`aibox logs %s` shows the output of %s", s.id, info.Name)
}
