package supervisor

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/session"
)

// exitFault returns why a session whose agent exited counts as failed, or nil.
func (s *modelWatch) exitFault(agent agents.Agent, out sandboxOutcome) error {
	name := s.launch.Spec.Agent
	switch {
	case out.exit == nil:
		return fault.New(fault.Internal, "the sandbox ended without a report: %w", out.cause).
			Hint("the agent may have killed the first process of its sandbox, or the host may have run out of memory; its work so far is kept")
	case out.err != "":
		failed := fault.New(fault.AgentFailed, "%s could not be run: %s", name, termtext.Escape(fmt.Sprintf("%.500s", out.err)))
		if script, ok := s.unquotedScript(agent, out.exit.Code); ok {
			failed = failed.Hint("aibox run %s -- sh -c %s   # a shell runs it", name, shellquote.Quote(script))
		}
		return failed
	case s.wasInterrupted():
		return fault.New(fault.Interrupted, "%s was interrupted, and ended with %s", name, exitText(out.exit))
	case out.exit.Signal != 0:
		return fault.New(fault.AgentFailed, "%s was ended by signal %d", name, out.exit.Signal)
	case out.exit.Code != 0:
		return s.exitCodeFault(agent, out.exit.Code)
	default:
		return nil
	}
}

// exitNoProgram is the exit code of a start whose program does not exist.
const exitNoProgram = 127

// unquotedScript returns the only argument of a command that looks like a script for a
// shell, if no program has that name.
func (s *modelWatch) unquotedScript(agent agents.Agent, code int) (script string, ok bool) {
	const longest = 200 // bytes that fit in a hint
	args := s.launch.Spec.Args
	if code != exitNoProgram || len(args) != 1 || len(agent.Info().Dialects) > 0 || len(args[0]) > longest {
		return "", false
	}
	return args[0], strings.ContainsAny(args[0], " \t\n|&;<>()$`*?")
}

// exitText returns how an agent ended.
func exitText(exit *lifeline.Exit) string {
	if exit.Signal != 0 {
		return fmt.Sprintf("signal %d", exit.Signal)
	}
	return fmt.Sprintf("exit code %d", exit.Code)
}

// exitCodeFault explains an exit code: its meaning for the agent and, if the agent's last
// model request failed, that failure.
func (s *modelWatch) exitCodeFault(agent agents.Agent, code int) error {
	text := fmt.Sprintf("%s ended with exit code %d", s.launch.Spec.Agent, code)
	if meaning := agents.Meaning(agent, code); meaning != "" {
		text += " (" + meaning + ")"
	}
	info, model := agent.Info(), s.counters.modelCalls()
	if len(info.Dialects) == 0 || !model.lastFailed {
		return fault.New(fault.AgentFailed, "%s", text)
	}
	return s.modelFault(info, model.last, fault.New(fault.AgentFailed, "%s: %s", text, failureText(model.last)))
}

// checkWork checks the work of an agent that exited with success: some do so although they
// could not work.
func (s *modelWatch) checkWork(res *resources, result *session.Result) {
	info, name, model := res.agent.Info(), s.launch.Spec.Agent, s.counters.modelCalls()
	switch {
	case result.Fault != nil, res.model.server == nil, len(info.Dialects) == 0, s.launch.Spec.Interactive:
	case model.lastFailed && !result.Changed:
		result.Fault = session.FailureOf(s.modelFault(info, model.last,
			fault.New(fault.AgentFailed, "%s exited with success, but its last request failed: %s", name, failureText(model.last))))
	case model.lastFailed:
		result.Notes = append(result.Notes, "the last request failed, so the work may be unfinished: "+failureText(model.last))
	case model.asked == 0 && s.launch.Spec.Prompt != "" && !result.Changed:
		result.Notes = append(result.Notes, name+" asked the model nothing and changed nothing")
	}
}

// failures returns the model failures for a result; nil if none failed.
func (m modelCounters) failures() *session.ModelFailures {
	if m.failed == 0 {
		return nil
	}
	return &session.ModelFailures{Count: m.failed, Status: m.last.Status, Message: failureText(m.last)}
}
