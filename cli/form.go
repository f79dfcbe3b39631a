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

// task is what the form asks first when the command line does not say it.
type task struct {
	Prompt string `label:"Prompt" help:"What the agent should do" type:"text"`
	Model  string `label:"Model" help:"The model it uses; required if the server has several" type:"model"`
}

// Validate wants a prompt.
func (t *task) Validate() error {
	if strings.TrimSpace(t.Prompt) == "" {
		return fault.New(fault.Usage, "the agent needs a task")
	}
	return nil
}

// fillIn asks for the agent's options, and for a task that is missing, and returns the
// request with the answers.
func (a *cli) fillIn(ctx context.Context, runner *run.Runner, request run.Request) (run.Request, error) {
	out, err := a.screen()
	if err != nil {
		return request, err
	}
	plan, err := runner.ResolveDefaults(request)
	if err != nil {
		return request, err
	}
	agent, err := a.app.Agents().Find(plan.Launch.Spec.Agent)
	if err != nil {
		return request, err
	}
	info := agent.Info()
	asked := form.Request{
		In: a.in, Out: out, Title: "Run " + info.Title, Action: "Run", Suggest: suggestions(ctx, plan, request.Repository),
		Accessible: accessible(),
	}
	if info.NeedsPrompt && !request.Interactive && request.Prompt == "" {
		if request, err = askTask(ctx, request, plan, asked); err != nil {
			return request, err
		}
		plan.Launch.Spec.Prompt = request.Prompt
	}
	given, own := plan.Launch.Spec.Options, run.OwnFlags(agent)
	if asked.Options, err = runner.FormOptions(plan); err != nil {
		return request, err
	}
	asked.Mode = request.Mode()
	commandLine := func(options any) string {
		return shellquote.Join(request.WithOptions(given, options).CommandLine(own))
	}
	asked.Preview = func(options any) string {
		sandbox, err := runner.Preview(plan.WithOptions(options))
		if err != nil {
			return fmt.Sprintf("%s\n\n%s\n", commandLine(options), err)
		}
		return fmt.Sprintf("%s\n\nIn the sandbox:\n%s", commandLine(options), sandbox)
	}
	if err := complete(ctx, asked); err != nil {
		return request, err
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), safe(commandLine(asked.Options)))
	return request.WithOptions(given, asked.Options), nil
}

// complete runs the form. A canceled one ends the command.
func complete(ctx context.Context, request form.Request) error {
	done, err := form.Run(ctx, request)
	if err == nil && !done {
		return fault.New(fault.Interrupted, "canceled; nothing was started")
	}
	return err
}

// screen is where a form can be shown: on the terminal, from which it is filled in,
// or anywhere where lines are asked for.
func (a *cli) screen() (io.Writer, error) {
	if os.Getenv("ACCESSIBLE") != "" {
		return a.err, nil
	}
	if terminalOf(a.in).interactive {
		switch {
		case a.errTerm.interactive:
			return a.err, nil
		case a.term.interactive:
			return a.out, nil
		}
	}
	return nil, fault.New(fault.Usage, "--form needs a terminal").
		Hint("give the options with --set key=value; `aibox agents show NAME` lists them")
}

// askTask asks for what --prompt and --model give.
func askTask(ctx context.Context, request run.Request, plan run.Plan, asked form.Request) (run.Request, error) {
	t := &task{Model: plan.Launch.Spec.Model}
	asked.Options, asked.Action = t, "Go on"
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

// maxFiles bounds what a form offers for paths.
const maxFiles = 1000

// suggestions offers the known models of the server, and the names at the top of the
// repository.
func suggestions(ctx context.Context, plan run.Plan, repository string) func(spec.Field) []string {
	if repository == "" {
		repository = "."
	}
	return func(field spec.Field) []string {
		var words []string
		switch {
		case field.Type == spec.Model:
			for _, model := range app.CompleteModels(ctx, plan.Launch.Spec.Inference) {
				words = append(words, model.ID)
			}
		case field.Type == spec.Path && !workspace.IsURL(repository):
			entries, err := os.ReadDir(repository)
			if err != nil {
				return nil // a suggestion less
			}
			for _, entry := range entries[:min(len(entries), maxFiles)] {
				words = append(words, entry.Name())
			}
		}
		return words
	}
}
