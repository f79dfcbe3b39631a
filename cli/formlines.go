package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"aibox/agents/spec"
	"aibox/app"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/ui/form"
	"aibox/workspace"
)

// task is the first question when the command line has no task.
type task struct {
	Prompt string `label:"Prompt" help:"What the agent should do" type:"text"`
	Model  string `label:"Model" help:"The model it uses; required if the server has several" type:"model"`
}

// Validate reports a missing prompt.
func (t *task) Validate() error {
	if strings.TrimSpace(t.Prompt) == "" {
		return fault.New(fault.Usage, "the agent needs a task")
	}
	return nil
}

// askInLines asks for the agent's options line by line, and for a task that is missing,
// and returns the request with the answers.
func (i *invocation) askInLines(ctx context.Context, plan run.Plan, request run.Request, out io.Writer) (run.Request, error) {
	agent, err := i.app.Agents().Find(plan.Launch.Spec.Agent)
	if err != nil {
		return request, err
	}
	info := agent.Info()
	asked := form.Request{
		In: i.in, Out: out, Title: "Run " + info.Title, Action: "Run", Suggest: suggestions(ctx, i.app, plan, request.Repository),
	}
	if info.NeedsPrompt && !request.Interactive && request.Prompt == "" {
		if request, err = askTask(ctx, request, plan, asked); err != nil {
			return request, err
		}
		plan.Launch.Spec.Prompt = request.Prompt
	}
	given, own := plan.Launch.Spec.Options, run.OwnFlags(agent)
	if asked.Options, err = i.runner.FormOptions(plan); err != nil {
		return request, err
	}
	asked.Mode = request.Mode()
	asked.Preview = func(options any) string {
		line := shellquote.Join(request.WithOptions(given, options).CommandLine(own))
		sandbox, err := i.runner.Preview(plan.WithOptions(options))
		if err != nil {
			return fmt.Sprintf("%s\n\n%s\n", line, err)
		}
		return fmt.Sprintf("%s\n\nIn the sandbox:\n%s", line, sandbox)
	}
	if err := complete(ctx, asked); err != nil {
		return request, err
	}
	return request.WithOptions(given, asked.Options), nil
}

// complete asks the questions. If the user cancels them, the command ends.
func complete(ctx context.Context, request form.Request) error {
	done, err := form.Run(ctx, request)
	if err == nil && !done {
		return errCanceled
	}
	return err
}

// askTask asks for what --prompt and --model give.
func askTask(ctx context.Context, request run.Request, plan run.Plan, asked form.Request) (run.Request, error) {
	t := &task{Model: plan.Launch.Spec.Model}
	asked.Options, asked.Action = t, "Continue"
	if err := complete(ctx, asked); err != nil {
		return request, err
	}
	request = request.Clone()
	request.Prompt = t.Prompt
	if t.Model == plan.Launch.Spec.Model {
		return request, nil
	}
	return request, request.Settings.Set("model", t.Model)
}

// maxFiles bounds the suggestions for paths.
const maxFiles = 1000

// suggestions offers the known models of the server, and the names at the top of the
// repository.
func suggestions(ctx context.Context, a *app.App, plan run.Plan, repository string) func(spec.Field) []string {
	if repository == "" {
		repository = "."
	}
	return func(field spec.Field) []string {
		var words []string
		switch {
		case field.Type == spec.Model:
			for _, model := range a.CompleteModels(ctx, plan.Launch.Spec.Inference) {
				words = append(words, model.ID)
			}
		case field.Type == spec.Path && !workspace.IsURL(repository):
			entries, err := os.ReadDir(repository)
			if err != nil {
				return nil // one suggestion fewer
			}
			for _, entry := range entries[:min(len(entries), maxFiles)] {
				words = append(words, entry.Name())
			}
		}
		return words
	}
}
