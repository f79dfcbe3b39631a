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
	"aibox/session"
	"aibox/ui"
)

// editRequest lets the user complete a request before it runs: on the screen for a new
// run, or line by line. It prints the command of the result.
func (a *cli) editRequest(ctx context.Context, runner *run.Runner, service *session.Sessions, request run.Request) (run.Request, error) {
	out, err := a.formOutput()
	if err != nil {
		return request, err
	}
	plan, err := runner.ResolveDefaults(request)
	if err != nil {
		return request, err
	}
	if accessible() {
		request, err = a.askInLines(ctx, runner, plan, request, out)
	} else {
		request, err = a.composeOnScreen(ctx, runner, service, request, out)
	}
	if err != nil {
		return request, err
	}
	agent, err := a.app.Agents().Find(cmp.Or(request.Agent, plan.Launch.Spec.Agent))
	if err != nil {
		return request, err
	}
	line := shellquote.Join(request.CommandLine(run.OwnFlags(agent)))
	fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), safe(line))
	return request, nil
}

// formOutput is the terminal that shows the form. Questions line by line need none.
func (a *cli) formOutput() (io.Writer, error) {
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

// errCanceled reports that the user left the form.
var errCanceled = fault.New(fault.Interrupted, "canceled; nothing was started")

// composeOnScreen shows the screen for a new run.
func (a *cli) composeOnScreen(ctx context.Context, runner *run.Runner, service *session.Sessions, request run.Request, out io.Writer) (run.Request, error) {
	services, err := a.newRuns(service)
	if err != nil {
		return request, err
	}
	edited := request.Clone()
	if request.Resumes != "" {
		dirs, err := paths.Default()
		if err != nil {
			return request, err
		}
		resumed, err := compose.NewRepositories(a.app, service, runner, dirs).Resumed(request)
		if err != nil {
			return request, err
		}
		services.Places, edited.Repository = resumed, resumed.Path()
	}
	composed, done, err := ui.Compose(ctx, ui.Request{In: a.in, Out: out, Sessions: service, NewRuns: services}, edited)
	if ctx.Err() != nil || err == nil && !done {
		return request, errCanceled
	}
	return composed, err
}
