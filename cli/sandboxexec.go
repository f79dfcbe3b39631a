package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/process"

	"github.com/spf13/cobra"
)

// sandboxExecOptions are the flags of `aibox sandbox exec` and `aibox sandbox shell`.
type sandboxExecOptions struct {
	*cli

	stdin, tty, detach bool
	env                []string
	dir, user, timeout string
}

func newSandboxExecCommand(a *cli) *cobra.Command {
	o := sandboxExecOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "exec ID -- COMMAND…",
		Short: "Run a command in a sandbox",
		Long: `Run a command in a sandbox. The exit code is the command's; 127 means that the sandbox has
no such command, and 126 that it cannot be run. The command reads your standard input only
with -i. Ctrl-c and other signals are passed on; the third ctrl-c kills the command. Its
output is passed on unchanged, except that a terminal does not get control sequences that
could harm it.`,
		Example: `  aibox sandbox exec 0dq4f -- python3 -c 'print(6 * 7)'
  aibox sandbox exec -i 0dq4f -- sh -c 'cat > /tmp/data' < data
  aibox sandbox exec -t 0dq4f -- python3`,
		ValidArgsFunction: a.complete.sandboxes,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) >= 2 && cmd.ArgsLenAtDash() == 1 {
				return nil
			}
			return fault.New(fault.Usage, "%s takes the id of a sandbox and a command after --", cmd.CommandPath()).Hint("`aibox sandbox exec 0dq4f -- ls` runs one")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
	}
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&o.stdin, "interactive", "i", false, "pass standard input to the command")
	flags.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal, and show it on this one")
	flags.BoolVarP(&o.detach, "detach", "d", false, "run the command in the background, and print its number")
	flags.StringVar(&o.timeout, "timeout", "", "kill the command after this `TIME`")
	return cmd
}

func (o *sandboxExecOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set `NAME=VALUE`, or pass on NAME, in the command's environment (repeatable)")
	flags.StringVarP(&o.dir, "workdir", "w", "", "run the command in this `FOLDER` of the sandbox")
	flags.StringVarP(&o.user, "user", "u", "", "run the command as this `USER` of the sandbox, or USER:GROUP")
}

func newSandboxShellCommand(a *cli) *cobra.Command {
	o := sandboxExecOptions{cli: a, tty: true}
	cmd := &cobra.Command{
		Use:               "shell ID",
		Short:             "Open a shell in a sandbox",
		Example:           "  aibox sandbox shell 0dq4f",
		Args:              sandboxArgs,
		ValidArgsFunction: a.complete.sandboxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.isInteractive() {
				return fault.New(fault.Usage, "a shell needs a terminal as input and output").Hint("`aibox sandbox exec %s -- COMMAND` runs a command", args[0])
			}
			return o.run(cmd.Context(), args[0], []string{"/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh"})
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *sandboxExecOptions) run(ctx context.Context, text string, command []string) error {
	if err := o.checkStreams(o.stdin, o.tty, o.detach); err != nil {
		return err
	}
	words, err := processEnv(o.env)
	if err != nil {
		return err
	}
	env, err := entries("env", words)
	if err != nil {
		return err
	}
	timeout, err := parseLength("timeout", o.timeout)
	if err != nil {
		return err
	}
	return o.withSandboxID(ctx, text, func(c *client.Client, id string) error {
		request := &aiboxv1.StartProcessRequest{
			SandboxId: id, Argv: command, Env: env, Dir: o.dir, User: o.user, Stdin: o.stdin, Timeout: timeout,
		}
		switch {
		case o.detach:
			return o.launch(ctx, c, request)
		case o.tty:
			return o.terminal(ctx, c, request)
		default:
			request.Linger = client.DurationOf(lingerTime)
			return o.follow(ctx, c, request)
		}
	})
}

// launch starts a command in the background.
func (o *sandboxExecOptions) launch(ctx context.Context, c *client.Client, r *aiboxv1.StartProcessRequest) error {
	r.Overflow = aiboxv1.Overflow_OVERFLOW_DROP
	if o.tty {
		r.Tty = o.terminalSize()
	}
	started, err := c.Launch(ctx, r)
	if err != nil {
		return err
	}
	if exit := started.GetExit(); exit.GetError() != "" {
		return exitError(r.GetArgv()[0], exitOf(exit))
	}
	fmt.Fprintln(o.out, started.GetProcessId())
	return nil
}

// terminal runs a command on this terminal. The terminal itself is that of `aibox exec -t`:
// the sandbox's own supervisor draws it.
func (o *sandboxExecOptions) terminal(ctx context.Context, c *client.Client, r *aiboxv1.StartProcessRequest) error {
	r.Tty = o.terminalSize()
	started, err := c.Launch(ctx, r)
	if err != nil {
		return err
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	info := process.Info{ID: int(started.GetProcessId()), Argv: r.GetArgv(), TTY: true}
	if exit := started.GetExit(); exit != nil {
		ended := exitOf(exit)
		info.Exit = &ended
	}
	return o.attachProcess(ctx, service, session.ID(r.GetSandboxId()), info)
}

// terminalSize returns the size of a command's terminal on this one.
func (o *sandboxExecOptions) terminalSize() *aiboxv1.TerminalSize {
	size := o.agentSize()
	return &aiboxv1.TerminalSize{Rows: uint32(size.Rows), Cols: uint32(size.Cols)}
}

// exitOf returns the end of a process.
func exitOf(exit *aiboxv1.ProcessExit) process.Exit {
	return process.Exit{Code: int(exit.GetCode()), Signal: int(exit.GetSignal()), Cut: exit.GetCut(), TimedOut: exit.GetTimedOut(), Error: exit.GetError()}
}

// follow runs a command and passes on its output, and the user's signals and input.
func (o *sandboxExecOptions) follow(ctx context.Context, c *client.Client, r *aiboxv1.StartProcessRequest) error {
	// The end of starting ends the start. Later, signals are passed on.
	starting := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(starting, cancel)
	defer stop()
	signals := make(chan os.Signal, 4)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // Go would end this program before it hangs up the command
	printer := o.processPrinter()
	var number int32
	var exit *process.Exit
	err := c.Start(ctx, r, func(event *aiboxv1.ProcessEvent) error {
		switch e := event.GetEvent().(type) {
		case *aiboxv1.ProcessEvent_Started:
			number = e.Started.GetProcessId()
			signal.Notify(signals, passedSignals()...)
			if !stop() {
				_ = c.Signal(context.WithoutCancel(ctx), r.GetSandboxId(), number, int32(syscall.SIGTERM))
				cancel()
				return starting.Err()
			}
			go passSignals(ctx, signals, func(s int) { _ = c.Signal(ctx, r.GetSandboxId(), number, int32(s)) })
			if o.stdin {
				// The error is that of the end of the process, which is reported below.
				go func(in io.Reader) { _ = c.Input(ctx, r.GetSandboxId(), number, in) }(o.in)
			}
		case *aiboxv1.ProcessEvent_Stdout:
			return printer.print(process.Frame{Kind: process.Stdout, Data: e.Stdout.GetData()})
		case *aiboxv1.ProcessEvent_Stderr:
			return printer.print(process.Frame{Kind: process.Stderr, Data: e.Stderr.GetData()})
		case *aiboxv1.ProcessEvent_Lost:
			return printer.print(process.Frame{Kind: process.Lost})
		case *aiboxv1.ProcessEvent_Exit:
			ended := exitOf(e.Exit)
			exit = &ended
		}
		return nil
	})
	switch err = errors.Join(err, printer.close()); {
	case err != nil && ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted")
	case errors.Is(err, syscall.EPIPE):
		_ = c.Signal(ctx, r.GetSandboxId(), number, int32(syscall.SIGHUP)) // nobody reads it any more
		return &processExit{code: 128 + int(syscall.SIGPIPE)}
	case err != nil:
		return err
	case exit == nil:
		return fault.New(fault.AgentFailed, "the sandbox ended before the command")
	}
	return exitError(r.GetArgv()[0], *exit)
}
