package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/shellquote"
	"aibox/ui"
)

// edit lets the user complete a request before it runs: on the screen for a new
// run, or line by line. It prints the command of the result.
func (i *invocation) edit(ctx context.Context, request run.Request) (run.Request, error) {
	out, err := i.formOutput()
	if err != nil {
		return request, err
	}
	plan, err := i.runner.ResolveDefaults(request)
	if err != nil {
		return request, err
	}
	if accessible() {
		request, err = i.askInLines(ctx, plan, request, out)
	} else {
		request, err = i.composeOnScreen(ctx, request, out)
	}
	if err != nil {
		return request, err
	}
	agent, err := i.app.Agents().Find(cmp.Or(request.Agent, plan.Launch.Spec.Agent))
	if err != nil {
		return request, err
	}
	line := shellquote.Join(request.CommandLine(run.OwnFlags(agent)))
	fmt.Fprintf(i.err, "%s %s\n", i.errTerm.faint("→"), safe(line))
	return request, nil
}

// formOutput is the terminal that shows the form. Questions line by line need none.
func (i *invocation) formOutput() (io.Writer, error) {
	if os.Getenv("ACCESSIBLE") != "" {
		return i.err, nil
	}
	if terminalOf(i.in).interactive {
		switch {
		case i.errTerm.interactive:
			return i.err, nil
		case i.term.interactive:
			return i.out, nil
		}
	}
	return nil, fault.New(fault.Usage, "--form needs a terminal").
		Hint("give the options with --set key=value; `aibox agents show NAME` lists them")
}

// errCanceled reports that the user left the form.
var errCanceled = fault.New(fault.Interrupted, "canceled; nothing was started")

// composeOnScreen shows the screen for a new run.
func (i *invocation) composeOnScreen(ctx context.Context, request run.Request, out io.Writer) (run.Request, error) {
	services, err := i.newRuns(i.service)
	if err != nil {
		return request, err
	}
	edited := request.Clone()
	if request.Resumes != "" {
		dirs, err := paths.Default()
		if err != nil {
			return request, err
		}
		resumed, err := compose.NewRepositories(i.app, i.service, i.runner, dirs).Resumed(request)
		if err != nil {
			return request, err
		}
		services.Places, edited.Repository = resumed, resumed.Path()
	}
	composed, done, err := ui.Compose(ctx, ui.Request{In: i.in, Out: out, Sessions: i.service, NewRuns: services}, edited)
	if ctx.Err() != nil || err == nil && !done {
		return request, errCanceled
	}
	return composed, err
}
