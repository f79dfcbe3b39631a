package cli

import (
	"context"
	"io"
	"os"
	"os/signal"

	"aibox/app/run"
	"aibox/ui/plain"
)

// plainUI is `aibox` in lines: it asks until the user leaves.
func (a *cli) plainUI(ctx context.Context) error {
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	runs, err := a.newRuns(service)
	if err != nil {
		return err
	}
	// The runs and commands of this process ask in lines, too.
	if err := os.Setenv("ACCESSIBLE", "1"); err != nil {
		return err
	}
	// ctrl-c leaves at a question, and belongs to a command while one runs.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), endSignals()...)
	defer stop()
	host := uiHost{a}
	return plain.Run(ctx, plain.Request{In: questioner{a}, Out: a.out, Sessions: service, Places: runs.Places, Choices: runs.Choices, Do: host.inLines, Run: host.runInLines})
}

// questioner reads answers from standard input. A ctrl-c ends them.
type questioner struct{ *cli }

// Next returns the next line.
func (q questioner) Next(ctx context.Context) (string, error) {
	asking, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	in, err := q.answers(asking)
	if err != nil {
		return "", err
	}
	defer in.close()
	answer, err := in.next(asking)
	if asking.Err() != nil && ctx.Err() == nil {
		return "", io.EOF
	}
	return answer, err
}

// runInLines runs a request. Only the run receives ctrl-c.
func (a uiHost) runInLines(ctx context.Context, request run.Request, form bool) error {
	during, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := a.runRequest(during, request, presentation{form: form})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.report(err)
	}
	return nil
}

// inLines runs one of aibox's own commands, which also asks in lines. The command reports
// its errors itself.
func (a uiHost) inLines(ctx context.Context, args ...string) error {
	_, err := a.runOwn(ctx, args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
