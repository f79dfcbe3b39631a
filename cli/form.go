package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/session"
	"aibox/ui"
	"aibox/ui/newrun"
	"aibox/workspace"
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
		places, err := resumedPlacesOf(services.Places, runner, request)
		if err != nil {
			return request, err
		}
		services.Places, edited.Repository = places, places.session.Repository
	}
	composed, done, err := ui.Compose(ctx, ui.Request{In: a.in, Out: out, Sessions: service, NewRuns: services}, edited)
	if ctx.Err() != nil || err == nil && !done {
		return request, errCanceled
	}
	return composed, err
}

// resumedPlaces know the repository of a session that is resumed.
type resumedPlaces struct {
	newrun.Places
	session  run.Request      // what it ran
	settings *config.Resolved // those that hold unless the request has others
}

func resumedPlacesOf(places newrun.Places, runner *run.Runner, request run.Request) (resumedPlaces, error) {
	plan, err := runner.ResolveDefaults(run.Request{Agent: request.Agent, Resumes: request.Resumes})
	if err != nil {
		return resumedPlaces{}, err
	}
	old, err := runner.Sessions.Find(request.Resumes)
	if err != nil {
		return resumedPlaces{}, err
	}
	ran, err := run.FromSession(old.Spec)
	return resumedPlaces{places, ran, plan.Settings}, err
}

// Look looks at the repository. The session can be resumed without it, since its
// workspace is kept.
func (p resumedPlaces) Look(ctx context.Context, repository string) (newrun.Place, error) {
	place, err := p.Places.Look(ctx, repository)
	if err != nil {
		place = newrun.Place{Place: workspace.Place{Top: repository}}
	}
	place.Settings, place.Last, place.Resumed = p.settings, nil, &p.session
	return place, nil
}
