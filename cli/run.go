package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
)

// presentation is how this process shows a run.
type presentation struct {
	json bool // the result is JSON, and the agent's output goes to standard error
	form bool // let the user complete the request first
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
	runner := a.runner(service)
	if show.form {
		if request, err = a.editRequest(ctx, runner, service, request); err != nil {
			return err
		}
		if err := a.checkInteractive(request, show); err != nil {
			return err
		}
	}
	runner.ReadTask = a.readTask
	if request.IsBatch() {
		return a.runBatch(ctx, runner, service, request, show)
	}
	plan, err := a.resolve(ctx, runner, request)
	a.about = plan.Launch.Spec.Continues()
	a.warnRepositorySettings(plan.RepositorySettings)
	if err != nil {
		return err
	}
	if spec := plan.Launch.Spec; spec.HasModel() && len(spec.CloudHosts) == 0 {
		if err := a.askAboutServer(ctx, plan.Launch.Spec.Inference); err != nil {
			return err
		}
	}
	runner.Attends = a.canAsk() && !request.Detached
	progress := newSteps(a.err, a.errTerm)
	repair := func(ctx context.Context) { a.repair(ctx, service) }
	id, err := runner.Start(ctx, plan, run.Callbacks{Step: progress.handle, Repair: repair, Bake: a.offerToBake})
	progress.close()
	if err != nil {
		return err
	}
	a.about = id
	if request.Detached {
		return a.detached(show, service, id)
	}
	if request.Interactive {
		return a.runInteractive(ctx, plan, show, service, id)
	}
	ended, err := a.followRun(ctx, service, id, show.json)
	if err != nil {
		return err
	}
	return a.conclude(context.WithoutCancel(ctx), plan, show, service, ended)
}

// runner makes what starts runs, for an agent's terminal as large as this one.
func (a *cli) runner(service *session.Sessions) *run.Runner {
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

// detached prints which session was started.
func (a *cli) detached(show presentation, service *session.Sessions, id session.ID) error {
	if !show.json {
		_, err := fmt.Fprintln(a.out, id)
		fmt.Fprintf(a.err, "%s `aibox attach %s` follows it, `aibox stop %s` ends it\n", a.errTerm.faint("→"), id, id)
		return err
	}
	found, err := service.Find(string(id))
	return errors.Join(err, printJSON(a.out, found))
}

// warnRepositorySettings prints what a file in the repository had a part in.
func (a *cli) warnRepositorySettings(settings string) {
	if settings != "" {
		fmt.Fprintf(a.err, "%s %s: %s\n", a.errTerm.warn("!"), config.RepositoryName, firstLine(termtext.Escape(settings), 400))
	}
}

// readTask reads the task from standard input, unless that is a terminal.
func (a *cli) readTask() (string, error) {
	if terminalOf(a.in).interactive {
		return "", nil
	}
	return readPrompt(a.in, "standard input")
}

// readPromptFile reads the task from the file; - is standard input.
func (a *cli) readPromptFile(name string) (string, error) {
	if name == "-" {
		return readPrompt(a.in, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return "", fault.New(fault.Usage, "the prompt cannot be read: %w", err)
	}
	defer file.Close()
	return readPrompt(file, name)
}

func readPrompt(in io.Reader, name string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, run.MaxPrompt+1))
	switch {
	case err != nil:
		return "", fault.New(fault.Usage, "the prompt cannot be read from %s: %w", name, err)
	case len(data) > run.MaxPrompt:
		return "", run.ErrLongPrompt
	}
	return string(data), nil
}
