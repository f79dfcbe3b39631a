package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/agents/spec"
	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// checkOptions are the flags of `aibox agents check`.
type checkOptions struct {
	timeout time.Duration
	keep    bool
	json    *bool
}

func newCheckAgentCommand(a *cli, asJSON *bool) *cobra.Command {
	o := checkOptions{json: asJSON}
	cmd := &cobra.Command{
		Use:   "check AGENT",
		Short: "Test an agent end to end, step by step",
		Long: `Test an agent: read its file, build its command lines, bake its image, and run it in a
real sandbox on a scratch repository, against the built-in model. The model asks it to
write a file. The check passes if the task reaches the model byte for byte and the
file is written. It repeats this on a terminal where no one answers questions, and
once more to test resuming the conversation. Built-in agents can be checked too.`,
		Example:           "  aibox agents check mybot\n  aibox agents check codex --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeAgents,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.checkAgent(cmd.Context(), args[0], o) },
	}
	lengthVar(cmd.Flags(), &o.timeout, "timeout", 2*time.Minute, "time limit of each run")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the sessions for aibox logs and aibox diff")
	return cmd
}

// checkState is how a step of a check came out.
type checkState string

const (
	checkOK      checkState = "ok"
	checkFailed  checkState = "failed"
	checkNote    checkState = "note"    // it works, and there is something to know
	checkSkipped checkState = "skipped" // it does not apply to this agent
)

// checkStep is one step of a check.
type checkStep struct {
	Name    string     `json:"name"`
	State   checkState `json:"state"`
	Detail  string     `json:"detail,omitempty"` // one line for the user
	Lines   []string   `json:"lines,omitempty"`  // what belongs to it: problems, the agent's last words
	Hint    string     `json:"hint,omitempty"`
	Seconds float64    `json:"seconds"`
}

// agentCheck is one check of one agent.
type agentCheck struct {
	*cli
	name  string
	o     checkOptions
	steps []checkStep
	begun time.Time // of the step at work
}

func (a *cli) checkAgent(ctx context.Context, name string, o checkOptions) error {
	c := &agentCheck{cli: a, name: name, o: o, begun: time.Now()}
	err := c.all(ctx)
	failed := ""
	for _, step := range c.steps {
		if step.State == checkFailed && failed == "" {
			failed = step.Name
		}
	}
	if *o.json {
		err = errors.Join(printJSON(a.out, struct {
			Agent string      `json:"agent"`
			OK    bool        `json:"ok"`
			Steps []checkStep `json:"steps"`
		}{name, failed == "" && err == nil, c.steps}), err)
	}
	switch {
	case err != nil:
		return err
	case failed != "":
		return fault.New(fault.AgentFailed, "%s failed the check: %s", name, failed)
	default:
		return nil
	}
}

// all takes the steps. An error means that the check itself could not go on.
func (c *agentCheck) all(ctx context.Context) error {
	agent, err := c.read()
	if agent == nil || err != nil {
		return err
	}
	if !c.options(agent) {
		return nil
	}
	if done, err := c.image(ctx, agent); !done || err != nil {
		return err
	}
	return c.runs(ctx, agent)
}

// done ends a step and shows it.
func (c *agentCheck) done(step checkStep) {
	took := time.Since(c.begun)
	step.Seconds = float64(took.Milliseconds()) / 1000
	c.steps, c.begun = append(c.steps, step), time.Now()
	if *c.o.json {
		return
	}
	mark := map[checkState]string{
		checkOK: c.term.good("✓"), checkFailed: c.term.bad("✗"), checkNote: c.term.warn("!"), checkSkipped: c.term.faint("-"),
	}[step.State]
	fmt.Fprintf(c.out, "%s %-10s %s %s\n", mark, step.Name, termtext.Escape(step.Detail), c.term.faint(amount.Took(took)))
	for _, line := range step.Lines {
		fmt.Fprintf(c.out, "    %s\n", termtext.Escape(line))
	}
	if step.Hint != "" {
		fmt.Fprintf(c.out, "  %s %s\n", c.term.faint("→"), termtext.Escape(step.Hint))
	}
}

// read is the step that reads the agent's file. The agent is nil when it failed.
func (c *agentCheck) read() (agents.Agent, error) {
	agent, err := c.app.Agents().Find(c.name)
	var wrong *custom.Error
	switch {
	case errors.As(err, &wrong):
		c.done(checkStep{Name: "file", State: checkFailed, Detail: c.app.CustomAgents().Path(c.name), Lines: problemLines(wrong)})
		return nil, nil
	case err != nil && c.app.CustomAgents().Path(c.name) != "":
		step := checkStep{Name: "file", State: checkFailed, Detail: err.Error()}
		if hints := fault.Hints(err); len(hints) > 1 { // the last one names this command
			step.Hint = hints[len(hints)-1]
		}
		c.done(step)
		return nil, nil
	case err != nil:
		return nil, err
	}
	detail := "built in"
	if path := c.app.CustomAgents().Files[c.name]; path != "" {
		detail = path
	}
	c.done(checkStep{Name: "file", State: checkOK, Detail: detail})
	return agent, nil
}

// problemLines are the problems of a file with their ways out.
func problemLines(wrong *custom.Error) []string {
	var lines []string
	for _, p := range wrong.Problems {
		lines = append(lines, p.String())
		if p.Hint != "" {
			lines = append(lines, "  "+p.Hint)
		}
	}
	return lines
}

// imagined is a model, for command lines that are made and not run.
var imagined = agents.Inference{BaseURL: "http://10.200.200.1:11434", Key: "placeholder", Model: "model", Context: 32768}

// options is the step that makes the agent's command lines, with every option set.
func (c *agentCheck) options(agent agents.Agent) bool {
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		c.done(checkStep{Name: "options", State: checkFailed, Detail: err.Error()})
		return false
	}
	task := agents.Task{Prompt: "task", Workdir: "/workspace", Inference: imagined}
	if len(agent.Info().Dialects) == 0 && !agent.Info().NeedsPrompt {
		task.Prompt = ""
	}
	if agent.Info().Name == shellAgent {
		task.Args = []string{"true"}
	}
	if _, err := agent.Command(task); err != nil {
		step := checkStep{Name: "options", State: checkFailed, Detail: err.Error()}
		if hints := fault.Hints(err); len(hints) > 0 {
			step.Hint = hints[0]
		}
		c.done(step)
		return false
	}
	c.done(checkStep{Name: "options", State: checkOK, Detail: amount.Of(len(fields), "option") + ", command lines made"})
	return true
}

// shellAgent runs the command after "--" and nothing else.
const shellAgent = "shell"

// image is the step that bakes the agent's image.
func (c *agentCheck) image(ctx context.Context, agent agents.Agent) (bool, error) {
	builder, err := c.app.Builder(ctx)
	if err != nil {
		return false, err
	}
	baked, err := c.bakeWith(ctx, builder, []string{agent.Info().Image})
	var broken *bakery.StepError
	switch {
	case ctx.Err() != nil:
		return false, fault.New(fault.Interrupted, "interrupted")
	case errors.As(err, &broken):
		c.done(checkStep{Name: "image", State: checkFailed, Detail: broken.Error(), Lines: broken.Tail})
		return false, nil
	case err != nil:
		return false, c.app.DaemonFault(ctx, err)
	}
	detail := baked[0].Ref
	if baked[0].Reused {
		detail += ", up to date"
	}
	c.done(checkStep{Name: "image", State: checkOK, Detail: detail})
	return true, nil
}
