// Package agentcheck tests an agent end to end, step by step: its file, its command
// lines, its image, and runs in real sandboxes against the built-in model. It prints
// nothing.
package agentcheck

import (
	"context"
	"errors"
	"time"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/agents/spec"
	"aibox/app"
	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
)

// State is the result of a step.
type State string

// The results of steps.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Note    State = "note"    // it works, with a remark
	Skipped State = "skipped" // it does not apply to this agent
)

// Step is one step of a check. Its texts are raw.
type Step struct {
	Name    string   `json:"name"`
	State   State    `json:"state"`
	Detail  string   `json:"detail,omitempty"` // one line for the user
	Lines   []string `json:"lines,omitempty"`  // more detail: problems, the agent's last output
	Hint    string   `json:"hint,omitempty"`
	Seconds float64  `json:"seconds"`
}

// Report is the result of a check.
type Report struct {
	Agent string `json:"agent"`
	OK    bool   `json:"ok"`
	Steps []Step `json:"steps"`
}

// Failed returns the name of the first step that failed, or "".
func (r Report) Failed() string {
	for _, step := range r.Steps {
		if step.State == Failed {
			return step.Name
		}
	}
	return ""
}

// Checker checks agents. All functions are required.
type Checker struct {
	App     *app.App
	Timeout time.Duration // time limit of each run
	Keep    bool          // keep the sessions

	// Bake builds images, and shows the progress.
	Bake func(ctx context.Context, builder *bakery.Bakery, images []string) ([]bakery.Baked, error)
	// Image finds the image of a session.
	Image doctor.Image
	// Repair cleans up after crashes.
	Repair func(context.Context, *manager.Manager)
	// Done receives each step when it ends.
	Done func(Step)
	// NotRemoved receives a session that could not be removed.
	NotRemoved func(id session.ID, err error)
}

// check is the check of one agent.
type check struct {
	Checker
	name    string
	steps   []Step
	started time.Time // when the current step started
}

// Check checks the agent with this name. An error means that the check could not be
// completed; the report holds the steps until then.
func (c Checker) Check(ctx context.Context, name string) (Report, error) {
	run := &check{Checker: c, name: name, started: time.Now()}
	err := run.all(ctx)
	report := Report{Agent: name, Steps: run.steps}
	report.OK = err == nil && report.Failed() == ""
	return report, err
}

func (c *check) all(ctx context.Context) error {
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

// done ends a step and reports it.
func (c *check) done(step Step) {
	step.Seconds = float64(time.Since(c.started).Milliseconds()) / 1000
	c.steps, c.started = append(c.steps, step), time.Now()
	c.Done(step)
}

// read reads the agent's file. It returns nil if the step failed.
func (c *check) read() (agents.Agent, error) {
	agent, err := c.App.Agents().Find(c.name)
	var invalid *custom.Error
	switch {
	case errors.As(err, &invalid):
		c.done(Step{Name: "file", State: Failed, Detail: c.App.CustomAgents().Path(c.name), Lines: problemLines(invalid)})
		return nil, nil
	case err != nil && c.App.CustomAgents().Path(c.name) != "":
		step := Step{Name: "file", State: Failed, Detail: err.Error()}
		if hints := fault.Hints(err); len(hints) > 1 { // the last hint names this command
			step.Hint = hints[len(hints)-1]
		}
		c.done(step)
		return nil, nil
	case err != nil:
		return nil, err
	}
	detail := "built in"
	if path := c.App.CustomAgents().Files[c.name]; path != "" {
		detail = path
	}
	c.done(Step{Name: "file", State: OK, Detail: detail})
	return agent, nil
}

// problemLines lists the problems of a file, each with its hint.
func problemLines(invalid *custom.Error) []string {
	var lines []string
	for _, p := range invalid.Problems {
		lines = append(lines, p.String())
		if p.Hint != "" {
			lines = append(lines, "  "+p.Hint)
		}
	}
	return lines
}

// exampleModel is for command lines that are built but not run.
var exampleModel = agents.Inference{BaseURL: "http://10.200.200.1:11434", Key: "placeholder", Model: "model", Context: 32768}

// shell is the agent that runs the command after "--", without a prompt or a model.
const shell = "shell"

// options builds the agent's command lines.
func (c *check) options(agent agents.Agent) bool {
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		c.done(Step{Name: "options", State: Failed, Detail: err.Error()})
		return false
	}
	task := agents.Task{Prompt: "task", Workdir: "/workspace", Inference: exampleModel}
	if len(agent.Info().Dialects) == 0 && !agent.Info().NeedsPrompt {
		task.Prompt = ""
	}
	if agent.Info().Name == shell {
		task.Args = []string{"true"}
	}
	if _, err := agent.Command(task); err != nil {
		step := Step{Name: "options", State: Failed, Detail: err.Error()}
		if hints := fault.Hints(err); len(hints) > 0 {
			step.Hint = hints[0]
		}
		c.done(step)
		return false
	}
	c.done(Step{Name: "options", State: OK, Detail: amount.Of(len(fields), "option") + ", command lines made"})
	return true
}

// image bakes the agent's image.
func (c *check) image(ctx context.Context, agent agents.Agent) (bool, error) {
	builder, err := c.App.Builder(ctx)
	if err != nil {
		return false, err
	}
	baked, err := c.Bake(ctx, builder, []string{agent.Info().Image})
	var broken *bakery.StepError
	switch {
	case ctx.Err() != nil:
		return false, fault.New(fault.Interrupted, "interrupted")
	case errors.As(err, &broken):
		c.done(Step{Name: "image", State: Failed, Detail: broken.Error(), Lines: broken.Tail})
		return false, nil
	case err != nil:
		return false, c.App.DaemonFault(ctx, err)
	}
	detail := baked[0].Ref
	if baked[0].Reused {
		detail += ", up to date"
	}
	c.done(Step{Name: "image", State: OK, Detail: detail})
	return true, nil
}
