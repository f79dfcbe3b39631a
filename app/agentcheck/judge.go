package agentcheck

import (
	"slices"
	"strconv"
	"strings"

	"aibox/agents"
	"aibox/session"
)

// judge ends the step of a trial. It reports whether the agent passed.
func (c *check) judge(info agents.Info, t trial, r trialResult) bool {
	step := Step{Name: t.name, State: Failed, Lines: r.output}
	result := r.ended.State.Result
	switch {
	case result == nil:
		step.Detail = "it did not end"
	case result.Fault != nil && !(t.interactive && r.received != ""):
		step.Detail = result.Fault.Message
		if len(result.Fault.Hints) > 0 {
			step.Hint = result.Fault.Hints[0]
		}
		if t.interactive {
			step.Hint = "no one answers it: does it ask a question before it starts, or wait for Enter?"
		}
	case len(info.Dialects) == 0:
		step.State, step.Lines, step.Detail = OK, nil, "it ran; without a model there is nothing more to check"
	case result.Tokens.Requests == 0:
		step.Detail = "it exited with 0 without calling the model"
		step.Hint = "does its command line start the task right away, and does it know the model's address?"
	case r.received == "":
		step.Detail = "the model asked it to write " + t.file + ", but the file was not written"
		step.Hint = "does it offer the model a file or shell tool, and can it use that tool without asking?"
	case r.received != "yes" && t.resumes != "":
		step.Detail = "the model did not see the first task again: the conversation was lost"
		step.Hint = "does `state` list the folder where it keeps conversations, and does command.resume continue the latest one?"
	case r.received != "yes":
		step.Detail = "the task did not reach the model byte for byte"
		step.Lines = []string{"sent     " + strconv.QuoteToASCII(t.expect), "received " + r.received}
		step.Hint = `pass it on standard input (stdin = "prompt"), or as a separate argument after "--"`
	default:
		step.State, step.Lines, step.Detail = OK, nil, successText(t)
		c.done(step)
		c.addNotes(t, result)
		return true
	}
	c.done(step)
	return step.State == OK
}

// successText describes what a trial has shown.
func successText(t trial) string {
	switch {
	case t.interactive:
		return "it started work on a terminal without asking anything"
	case t.resumes != "":
		return "it resumed its conversation"
	default:
		return "the task reached the model byte for byte, and the file was written"
	}
}

// addNotes reports what the user should know although the agent passed.
func (c *check) addNotes(t trial, result *session.Result) {
	if result.Left && !t.interactive { // aibox stopped the interactive agent
		c.done(Step{Name: t.name, State: Note, Detail: "it left processes running, which ended with the sandbox"})
	}
	var targets []string
	for _, refused := range result.Refused {
		if !slices.Contains(targets, refused.Target) {
			targets = append(targets, refused.Target)
		}
	}
	if len(targets) > 0 {
		c.done(Step{Name: t.name, State: Note, Detail: "it was refused " + strings.Join(targets, ", ") + ", and continued"})
	}
}
