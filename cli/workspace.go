package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/client"
	"aibox/session/manager"
	"aibox/session/output"

	"github.com/spf13/cobra"
)

// workspaceOptions is one call of `aibox workspace`.
type workspaceOptions struct{ *cli }

func newWorkspaceCommand(a *cli) *cobra.Command {
	o := workspaceOptions{cli: a}
	return &cobra.Command{
		Use:   "workspace ID [-- COMMAND…]",
		Short: "Open a shell in a copy of a session's workspace",
		Long: `Start a shell or a command on a copy of a session's workspace, in its own sandbox
without network, in the session's image. You can read, build, run and change
everything: nothing there reaches your machine, and the copy is removed at the end.
This works while the agent is running, too.

In the copy, git compares with what the agent started from; the agent's own .git is
.git/agent. The command prints the path of the real workspace. If you edit files
there, use an editor that does not run anything from the folder, and do not run git:
files that the agent wrote, such as the .git of a nested repository, can make git run
any program.`,
		Example: `  aibox workspace 0dq4f
  aibox workspace 0dq4f -- git diff --stat`,
		Args:              sessionAndCommand,
		ValidArgsFunction: a.complete.sessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
	}
}

func sessionAndCommand(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) == 1 && dash < 0 || len(args) > 1 && dash == 1 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes one session id, and a command after --", cmd.CommandPath()).
		Hint("`aibox workspace 0dq4f -- git diff`")
}

func (o *workspaceOptions) run(ctx context.Context, text string, command []string) (err error) {
	shell := len(command) == 0
	if shell && !o.isInteractive() {
		return fault.New(fault.Usage, "a shell needs a terminal").Hint("`aibox workspace %s -- git diff` runs a command", text)
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if ws := found.State.Workspace; shell && ws != nil {
		fmt.Fprintf(o.err, "%s\n%s\n", o.errTerm.faint("in a sandbox, on a copy of "+safe(paths.Short(ws.Path))+" that is removed at the end"),
			o.errTerm.faint("git compares with what the agent started from; type exit to leave"))
	}
	o.warnUnset(found.Env)
	request := manager.OpenRequest{Command: command, Env: app.LookupVariables(found.Env), Size: o.agentSize()}
	opened, err := service.Open(ctx, found.ID, request, func(session.Step) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close(context.WithoutCancel(ctx))) }()
	if shell {
		return o.shell(ctx, service, opened)
	}
	return o.command(ctx, service, opened, command[0])
}

// shellIn connects the user's terminal to a shell. The exit code of the last command in it is not a
// failure.
func (o *workspaceOptions) shell(ctx context.Context, service *manager.Manager, opened *manager.Opened) error {
	err := o.attachTerminal(ctx, service, opened.ID)
	if errors.Is(err, errDetached) || errors.Is(err, client.ErrNotAttached) {
		return nil
	}
	return err
}

// commandIn shows what a command prints until the command ends.
func (o *workspaceOptions) command(ctx context.Context, service *manager.Manager, opened *manager.Opened, name string) error {
	printer := o.agentOutput(o.out)
	ended, err := service.Follow(ctx, opened.ID, 0, func(chunk output.Chunk) error {
		if chunk.Stream == output.Notice {
			return nil
		}
		return printer.show(chunk)
	})
	if err = errors.Join(err, printer.close()); err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "%s was interrupted", safe(name))
		}
		return quietly(err)
	}
	result := ended.State.Result
	switch {
	case result == nil || result.Fault == nil:
		return nil
	case result.Signal != 0:
		return fault.New(fault.AgentFailed, "%s was ended by signal %d", safe(name), result.Signal)
	case result.ExitCode == 127:
		return fault.New(fault.AgentFailed, "there is no %s in the sandbox", safe(name))
	case result.ExitCode > 0:
		return fault.New(fault.AgentFailed, "%s ended with exit status %d", safe(name), result.ExitCode)
	}
	return result.Fault.Err()
}
