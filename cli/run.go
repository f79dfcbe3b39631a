package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
)

// presentation is how this process shows a run.
type presentation struct {
	json bool // the result is JSON, and the agent's output goes to standard error
	form bool // let the user complete the request first
	// started is set once a session was started; nil if the caller need not know.
	started *bool
}

// setStarted records that a session was started.
func (p presentation) setStarted() {
	if p.started != nil {
		*p.started = true
	}
}

// invocation is a request that this process runs on its terminal, as `aibox run` does.
type invocation struct {
	*cli
	service *manager.Manager
	runner  *run.Runner
	show    presentation
}

// runRequest runs a request on this process's terminal, as `aibox run` does: it starts
// the run, follows it to its end unless it is detached, and delivers its changes.
func (a *cli) runRequest(ctx context.Context, request run.Request, show presentation) error {
	a.warnBrokenAgents()
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	if err := a.checkInteractive(request, show); err != nil {
		return err
	}
	i := &invocation{cli: a, service: service, runner: a.runner(service), show: show}
	if show.form {
		if request, err = i.edit(ctx, request); err != nil {
			return err
		}
		if err := a.checkInteractive(request, show); err != nil {
			return err
		}
	}
	i.runner.ReadTask = func() (string, error) { return a.readTask(ctx) }
	if request.IsBatch() {
		return i.runBatch(ctx, request)
	}
	return i.runOne(ctx, request)
}

// runOne runs a request for one session.
func (i *invocation) runOne(ctx context.Context, request run.Request) error {
	plan, err := i.resolve(ctx, i.runner, request)
	i.about = plan.Launch.Spec.Continues()
	i.warnRepositorySettings(plan.RepositorySettings)
	if err != nil {
		return err
	}
	if spec := plan.Launch.Spec; spec.HasModel() && len(spec.CloudHosts) == 0 {
		if err := i.askAboutServer(ctx, plan.Launch.Spec.Inference); err != nil {
			return err
		}
	}
	i.runner.WatchesRequests = i.canAsk() && !request.Detached
	progress := newSteps(i.err, i.errTerm)
	repair := func(ctx context.Context) { i.repair(ctx, i.service) }
	id, err := i.runner.Start(ctx, plan, run.Callbacks{Step: progress.handle, Repair: repair, Bake: i.offerToBake})
	progress.close()
	if err != nil {
		return err
	}
	i.about = id
	i.show.setStarted()
	switch {
	case request.Detached:
		return i.printStarted(id)
	case request.Interactive:
		return i.runInteractive(ctx, plan, id)
	}
	ended, err := i.followRun(ctx, i.service, id, i.show.json)
	if err != nil {
		return err
	}
	return i.finish(ctx, plan, ended)
}

// runner makes what starts runs, for an agent's terminal as large as this one.
func (a *cli) runner(service *manager.Manager) *run.Runner {
	runner := a.app.Runner(service)
	runner.TerminalSize = a.agentSize
	return runner
}

// checkInteractive refuses what cannot go together with -i.
func (a *cli) checkInteractive(request run.Request, show presentation) error {
	switch {
	case !request.Interactive || request.Detached:
		return nil
	case show.json:
		return fault.New(fault.Usage, "--json and -i cannot be used together").
			Hint("use one of them")
	case !a.isInteractive():
		return needsTerminal()
	default:
		return nil
	}
}

// printStarted prints which session was started.
func (i *invocation) printStarted(id session.ID) error {
	if !i.show.json {
		_, err := fmt.Fprintln(i.out, id)
		fmt.Fprintf(i.err, "%s `aibox attach %s` follows it, `aibox stop %s` ends it\n", i.errTerm.faint("→"), id, id)
		return err
	}
	found, err := i.service.Find(string(id))
	return errors.Join(err, printJSON(i.out, found))
}

// warnRepositorySettings prints what a file in the repository had a part in.
func (i *invocation) warnRepositorySettings(settings string) {
	if settings != "" {
		fmt.Fprintf(i.err, "%s %s: %s\n", i.errTerm.warn("!"), config.RepositoryName, firstLine(termtext.Escape(settings), 400))
	}
}

// readTask reads the task from standard input, unless that is a terminal.
func (a *cli) readTask(ctx context.Context) (string, error) {
	if terminalOf(a.in).interactive {
		return "", nil
	}
	return a.readPromptFile(ctx, standardStream)
}

// readPromptFile reads the task from the file; - is standard input.
func (a *cli) readPromptFile(ctx context.Context, name string) (string, error) {
	data, err := a.readNamed(ctx, name, run.MaxPrompt)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if name == standardStream {
		name = "standard input"
	}
	return promptOf(data, name, err)
}

func promptOf(data []byte, name string, err error) (string, error) {
	switch {
	case err != nil:
		return "", fault.New(fault.Usage, "the prompt cannot be read from %s: %w", name, err)
	case len(data) > run.MaxPrompt:
		return "", run.ErrLongPrompt
	}
	return string(data), nil
}
