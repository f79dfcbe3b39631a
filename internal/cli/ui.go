package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"aibox/ui"
	"aibox/ui/page"
)

// terminalUI is `aibox` on a person's terminal: it shows the sessions until they
// leave.
func (a *app) terminalUI(ctx context.Context) error {
	service, err := a.service()
	if err != nil {
		return err
	}
	// ctrl-c is a key here, and belongs to a command while one has the terminal.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return ui.Run(ctx, ui.Request{In: a.in, Out: a.out, Sessions: service, Settings: settingsDesk{a}, Do: a.handOver})
}

// handOver runs one of aibox's own commands on the whole terminal. It waits for the
// person to have read what the command says where that is asked for, or where it
// failed.
func (a *app) handOver(ctx context.Context, command page.Command) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding aibox itself: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, command.Args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	cmd.Cancel = func() error { return nil } // it has had the same ctrl-c
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("running aibox %s: %w", command.Args[0], err)
	}
	if failed == nil && !command.Wait {
		return nil
	}
	fmt.Fprintf(a.err, "\n%s ", a.errTerm.faint("enter goes back"))
	_, _ = bufio.NewReader(a.in).ReadString('\n')
	return nil
}
