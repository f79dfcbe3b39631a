package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"
	"aibox/ui/page"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lingerTime is how long a process of `aibox exec` lives after its aibox was killed.
const lingerTime = 10 * time.Second

// execOptions are the flags of `aibox exec`.
type execOptions struct {
	*cli
	showCode exitShown

	stdin, tty, detach bool
	env                []string
	dir, user          string
	list, json         bool
	connect            int
}

func newExecCommand(a *cli) *cobra.Command {
	o := execOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "exec ID -- COMMAND…",
		Short: "Run a command in the sandbox of a running session",
		Long: `Run a command in the sandbox of a running session, next to its agent, with the agent's
environment, working folder and network. The exit code is the command's; 127 means that
the sandbox has no such command, and 126 that it cannot be run.

The command reads your standard input only with -i, so that in a shell loop it does not read
the loop's input. Ctrl-c and other signals are passed on; the third ctrl-c kills the command.
Its output is passed on unchanged, except that a terminal does not get control sequences
that could harm it. With -t the command gets a terminal of its own, shown as
` + "`aibox attach`" + ` shows an agent's: ctrl-p ctrl-q detaches and leaves it running.

With -d the command runs in the background, and its number is printed. --list lists the
processes of a session. --connect follows one of them, and begins with the output that is
still kept, up to 16 MiB. When the agent ends, they all end.

What a command changes in /workspace counts as the agent's change, and is in its review.`,
		Example: `  aibox exec 0dq4f -- git status
  aibox exec -i 0dq4f -- sh -c 'cat > /tmp/data' < data
  aibox exec -it 0dq4f -- python3
  aibox exec -d 0dq4f -- npm run dev
  aibox exec --connect 1 0dq4f`,
		ValidArgsFunction: a.complete.running,
		Args:              o.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.showCode.print(o.console, o.run(cmd.Context(), args[0], args[1:]))
		},
	}
	flags := cmd.Flags()
	o.showCode.add(flags)
	flags.BoolVarP(&o.stdin, "interactive", "i", false, "pass standard input to the command")
	flags.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal, and show it on this one")
	flags.BoolVarP(&o.detach, "detach", "d", false, "run the command in the background, and print its number")
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set `NAME=VALUE`, or pass on NAME, in the command's environment (repeatable)")
	flags.StringVarP(&o.dir, "workdir", "w", "", "run the command in this `FOLDER` of the sandbox")
	flags.StringVarP(&o.user, "user", "u", "", "run the command as this `USER` of the sandbox, or USER:GROUP")
	flags.BoolVar(&o.list, "list", false, "list the processes that were started with exec, shell and cp")
	flags.BoolVar(&o.json, "json", false, "with --list, print JSON")
	flags.IntVar(&o.connect, "connect", 0, "follow the process with this `NUMBER`")
	return cmd
}

// checkArgs accepts a session id, and a command after -- unless a flag replaces it.
func (o *execOptions) checkArgs(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	without := o.list || o.connect != 0
	switch {
	case len(args) == 0 || dash == 0:
		return fault.New(fault.Usage, "%s needs a session id", cmd.CommandPath()).Hint("`aibox ls` lists the sessions")
	case without && len(args) > 1:
		return fault.New(fault.Usage, "--list and --connect take a session id and no command")
	case without:
		return nil
	case len(args) == 1:
		return fault.New(fault.Usage, "%s needs a command after --", cmd.CommandPath()).
			Hint("`aibox exec %s -- ls` runs one", args[0]).Hint("`aibox shell %s` opens a shell", args[0])
	case dash != 1:
		return fault.New(fault.Usage, "the command must come after the session id and --").
			Hint("`aibox exec %s -- %s`", args[0], strings.Join(args[1:], " "))
	}
	return nil
}

// validate refuses flags that cannot be combined.
func (o *execOptions) validate() error {
	switch {
	case o.list && o.connect != 0:
		return fault.New(fault.Usage, "--list and --connect cannot be used together")
	case o.json && !o.list:
		return fault.New(fault.Usage, "--json needs --list").Hint("what a command prints is passed on unchanged")
	case o.connect < 0:
		return fault.New(fault.Usage, "--connect takes the number of a process").Hint("`aibox exec --list` with the session lists them")
	}
	return o.checkStreams(o.stdin, o.tty, o.detach)
}

// checkStreams refuses flags of a command's input and terminal that cannot be combined or used here.
func (c *console) checkStreams(stdin, tty, detach bool) error {
	switch {
	case detach && stdin && !tty:
		return fault.New(fault.Usage, "a command in the background has no input").Hint("drop -i or -d")
	case tty && !detach && !c.isInteractive():
		return fault.New(fault.Usage, "-t needs a terminal as input and output").Hint("drop -t")
	}
	return nil
}

func (o *execOptions) run(ctx context.Context, text string, command []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	env, err := processEnv(o.env)
	if err != nil {
		return err
	}
	service, found, err := o.findRunning(ctx, text)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return o.listProcesses(ctx, service, found.ID)
	case o.connect != 0:
		return o.connectProcess(ctx, service, found.ID, o.connect)
	}
	size := o.agentSize()
	request := process.Request{
		Argv: command, Env: env, Dir: o.dir, User: o.user, Stdin: o.stdin, TTY: o.tty, Rows: size.Rows, Cols: size.Cols,
	}
	switch {
	case o.detach:
		request.Overflow = process.Drop
	case !o.tty:
		request.Linger = lingerTime
	}
	if !o.detach && !o.tty {
		return o.runProcess(ctx, service, found.ID, request, o.input())
	}
	info, err := service.StartProcess(ctx, found.ID, request)
	if err != nil {
		return err
	}
	if o.tty && !o.detach {
		return o.attachProcess(ctx, service, found.ID, info)
	}
	if info.Exit != nil && info.Exit.Error != "" {
		return exitError(command[0], *info.Exit)
	}
	fmt.Fprintln(o.out, info.ID)
	return nil
}

// input is what the command reads; nil is nothing.
func (o *execOptions) input() io.Reader {
	if !o.stdin {
		return nil // not o.in set to nil, which is an io.Reader that is not nil
	}
	return o.in
}

// processEnv returns the variables of -e as NAME=VALUE.
func processEnv(given []string) ([]string, error) {
	var env []string
	for _, entry := range given {
		name, _, hasValue := strings.Cut(entry, "=")
		switch {
		case name == "":
			return nil, fault.New(fault.Usage, "-e takes NAME=VALUE or NAME, not %q", entry)
		case hasValue:
			env = append(env, entry)
		default:
			env = append(env, app.LookupVariables([]string{name})...)
		}
	}
	return env, nil
}

// connectProcess follows a process that runs already.
func (o *execOptions) connectProcess(ctx context.Context, service *manager.Manager, id session.ID, number int) error {
	all, err := service.Processes(ctx, id)
	if err != nil {
		return err
	}
	for _, info := range all {
		switch {
		case info.ID != number:
		case info.TTY && info.Exit == nil && o.isInteractive():
			return o.attachProcess(ctx, service, id, info)
		default:
			return o.followProcess(ctx, service, id, info, nil)
		}
	}
	return fault.New(fault.Usage, "%s has no process %d", id, number).Hint("`aibox exec --list %s` lists them", id)
}

// listProcesses prints the processes of a session.
func (o *execOptions) listProcesses(ctx context.Context, service *manager.Manager, id session.ID) error {
	all, err := service.Processes(ctx, id)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.out, append([]process.Info{}, all...)) // an empty list is not null
	}
	if len(all) == 0 {
		fmt.Fprintf(o.err, "no processes were started in %s\n", id)
		return nil
	}
	for _, info := range all {
		state := "running"
		if info.Exit != nil {
			state = fmt.Sprintf("exit %d", info.Exit.Code)
		}
		command := shellquote.Join(info.Argv)
		if len(info.Argv) == 0 {
			command = "(copies files)"
		}
		fmt.Fprintf(o.out, "%3d  %-9s  %s  %s\n", info.ID, state, info.Started.Local().Format("15:04:05"), termtext.Escape(firstLine(command, 60)))
	}
	return nil
}

// exitError returns what the command line ends with after a process: nil for success.
func exitError(name string, exit process.Exit) error {
	if exit.Error != "" {
		return &processExit{exit.Code, fault.New(fault.AgentFailed, "%s: %s", safe(name), safe(exit.Error))}
	}
	if exit.Cut {
		return &processExit{max(exit.Code, 1), fault.New(fault.AgentFailed, "the session ended before all output of %s was read", safe(name))}
	}
	if exit.TimedOut {
		return &processExit{exit.Code, fault.New(fault.AgentFailed, "%s was killed at its time limit", safe(name))}
	}
	if exit.Code == 0 {
		return nil
	}
	return &processExit{code: exit.Code}
}

// processExit is the end of a command with the exit code of a process.
type processExit struct {
	code int
	err  error // to report; nil if the process has said why
}

func (e *processExit) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func (e *processExit) Unwrap() error { return e.err }

// exitShown is the hidden flag of the terminal UI, whose user sees no exit code otherwise.
type exitShown bool

func (e *exitShown) add(flags *pflag.FlagSet) {
	flags.BoolVar((*bool)(e), page.ShowExitCode, false, "print the exit code of a program that failed")
	_ = flags.MarkHidden(page.ShowExitCode) // it exists
}

// print prints the exit code of a program that ran and failed, unless the reason is reported. The program may
// have printed nothing. print returns err.
func (e exitShown) print(c *console, err error) error {
	if exit, ok := errors.AsType[*processExit](err); ok && exit.err == nil && bool(e) {
		fmt.Fprintf(c.err, "\n%s exit code %d\n", c.errTerm.bad("✗"), exit.code)
	}
	return err
}

// exitCode returns the exit code of a command that ended with err, and what to report of it.
func exitCode(err error) (int, error) {
	var exit *processExit
	if errors.As(err, &exit) {
		return exit.code, exit.err
	}
	return fault.KindOf(err).ExitCode(), err
}
