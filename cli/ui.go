package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aibox/app"
	"aibox/app/run"
	"aibox/runtime"
	"aibox/session"
	"aibox/ui"
	"aibox/ui/page"
)

// terminalUI is `aibox` on a terminal: it shows the sessions, or only one screen, until
// the user leaves.
func (a *cli) terminalUI(ctx context.Context, only page.Request) error {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(40) // it runs for hours, and should need little more memory than a large diff itself
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	// ctrl-c is a key here, and belongs to a command while one has the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), endSignals()...)
	defer stop()
	runs, err := a.newRuns(service)
	if err != nil {
		return err
	}
	images := a.app.Images(ctx)
	defer a.cancelBuilds(images)
	host := uiHost{a}
	said, err := ui.Run(ctx, ui.Request{
		In: a.in, Out: a.out, Sessions: service, Guard: a.app, Changes: a.app.Review(service, a.editMessage), NewRuns: runs,
		Settings: a.app.SettingsEditor(), Machine: a.app.Machine(service, images, host.bakedImage), Images: images, FirstRun: a.app.FirstRun(), Only: only,
		Snapshots: snapshots{a, service},
		Do:        host.handOver, System: host.runForRoot, Run: host.runOnTerminal, SendBack: host.sendBack,
		Remember: a.rememberHost, Notify: a.notifier(),
	})
	if said != "" {
		fmt.Fprintln(a.out, said)
	}
	return err
}

// uiHost runs requests and commands for the terminal UI: on the whole terminal, or between
// its own lines.
type uiHost struct{ *cli }

// bakedImage finds the image of a session, and does not offer to bake a missing one.
func (a uiHost) bakedImage(ctx context.Context, spec *session.Spec) (runtime.ImageID, error) {
	return a.app.FindImage(ctx, spec, nil)
}

// cancelBuilds cancels the builds in progress, and reports them.
func (c *console) cancelBuilds(images app.Images) {
	if open := images.Close(); len(open) > 0 {
		fmt.Fprintf(c.err, "%s baking %s was canceled; `aibox bake %s` continues it\n",
			c.errTerm.warn("!"), strings.Join(open, ", "), strings.Join(open, " "))
	}
}

// handOver runs one of aibox's own commands on the whole terminal. It waits for the user
// to read the output where that is requested, or where the command failed.
func (a uiHost) handOver(ctx context.Context, command page.Command) error {
	code, err := a.runOwn(ctx, command.Args)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the UI ends, and the command's error is a result of that
	case err != nil:
		return err
	case code == 0 && !command.Wait:
		return nil
	}
	return a.read(ctx)
}

// runForRoot runs a command of this machine on the whole terminal, after a question, and
// waits for the user to read its output.
func (a uiHost) runForRoot(ctx context.Context, command []string) error {
	fmt.Fprintf(a.out, "This changes the machine:\n\n  %s\n\n", strings.Join(command, " "))
	asking, stop := signal.NotifyContext(ctx, os.Interrupt)
	yes, err := a.yes(asking, "Do that? [y/N] ")
	if ctx.Err() == nil && asking.Err() != nil {
		yes, err = false, nil // ctrl-c means no
	}
	stop()
	if err != nil || !yes {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // a command of app/doctor, which the user has confirmed
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, inherited(a.out), a.err
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("running %s: %w", command[0], err)
	}
	return a.read(ctx)
}

// runOnTerminal runs a request on the whole terminal, and waits for the user to read what it
// printed. Only the run receives ctrl-c. It returns the error of a run that started nothing.
func (a uiHost) runOnTerminal(ctx context.Context, request run.Request) error {
	_, err := a.runAndRead(ctx, request)
	return err
}

// runAndRead is runOnTerminal, and reports whether a session was started.
func (a uiHost) runAndRead(ctx context.Context, request run.Request) (started bool, err error) {
	during, stop := signal.NotifyContext(ctx, os.Interrupt)
	err = a.runRequest(during, request, presentation{started: &started})
	stop()
	if ctx.Err() != nil {
		return started, nil //nolint:nilerr // the UI ends, and the run's error is a result of that
	}
	started = started || err == nil
	if err != nil {
		a.report(err)
	}
	if readErr := a.read(ctx); started {
		return started, readErr
	}
	return started, err
}

// runOwn runs one of aibox's own commands, which reports its failure itself, and returns its exit
// code; -1 if a signal ended it.
func (a uiHost) runOwn(ctx context.Context, args []string) (code int, err error) {
	cmd, err := a.child(ctx, args)
	if err != nil {
		return 0, err
	}
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		return 0, fmt.Errorf("running aibox %s: %w", args[0], err)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// child is one of aibox's own commands on this process's streams and with this process's daemon.
// Only the command receives ctrl-c. The end of ctx ends the command first, because it still has the
// terminal.
func (a uiHost) child(ctx context.Context, args []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding aibox itself: %w", err)
	}
	if a.rootfulGiven {
		args = slices.Concat([]string{"--rootful=" + strconv.FormatBool(a.rootful)}, args)
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, inherited(a.out), a.err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTimeout
	return cmd, nil
}

// endTimeout bounds how long a command may take to end when the UI ends.
const endTimeout = 10 * time.Second

// read waits until the user presses enter or ctrl-c.
func (c *console) read(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	lines, err := c.answers(ctx)
	if err != nil {
		return err
	}
	defer lines.close()
	fmt.Fprintf(c.err, "\n%s ", c.errTerm.faint("enter goes back"))
	_, _ = lines.next(ctx)
	return nil
}
