package cli

import (
	"context"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"

	"github.com/spf13/cobra"
)

// shells are the programs that `aibox shell` tries, in this order.
var shells = []string{"bash", "sh"}

// shellOptions are the flags of `aibox shell`.
type shellOptions struct {
	*cli
	showCode exitShown

	env       []string
	dir, user string
}

func newShellCommand(a *cli) *cobra.Command {
	o := shellOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "shell ID",
		Short: "Open a shell in the sandbox of a running session",
		Long: `Open a shell in the sandbox of a running session, next to its agent: bash, or sh where
the image has none. It takes the whole terminal. Ctrl-p ctrl-q detaches and leaves it
running; it ends with the agent.

What you change in /workspace counts as the agent's change, and is in its review. To open
a shell on a copy of the workspace, without network and even after the session has ended,
use ` + "`aibox workspace`" + `.`,
		Example:           "  aibox shell 0dq4f\n  aibox shell -u node 0dq4f",
		Args:              oneSession,
		ValidArgsFunction: a.complete.running,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.showCode.print(o.console, o.run(cmd.Context(), args[0]))
		},
	}
	flags := cmd.Flags()
	o.showCode.add(flags)
	flags.StringArrayVarP(&o.env, "env", "e", nil, "set `NAME=VALUE`, or pass on NAME, in the shell's environment (repeatable)")
	flags.StringVarP(&o.dir, "workdir", "w", "", "start in this `FOLDER` of the sandbox")
	flags.StringVarP(&o.user, "user", "u", "", "run as this `USER` of the sandbox, or USER:GROUP")
	return cmd
}

func (o *shellOptions) run(ctx context.Context, text string) error {
	if !o.isInteractive() {
		return fault.New(fault.Usage, "a shell needs a terminal as input and output").
			Hint("`aibox exec %s -- COMMAND` runs a command", text)
	}
	env, err := processEnv(o.env)
	if err != nil {
		return err
	}
	service, found, err := o.findRunning(ctx, text)
	if err != nil {
		return err
	}
	return o.openShell(ctx, service, found.ID, process.Request{Env: env, Dir: o.dir, User: o.user})
}

// openShell runs a shell on the user's terminal. request is without its command.
func (c *console) openShell(ctx context.Context, service *manager.Manager, id session.ID, request process.Request) error {
	size := c.agentSize()
	request.TTY, request.Rows, request.Cols = true, size.Rows, size.Cols
	var info process.Info
	for _, shell := range shells {
		request.Argv = []string{shell}
		var err error
		if info, err = service.StartProcess(ctx, id, request); err != nil {
			return err
		}
		if info.Exit == nil || info.Exit.Code != 127 && info.Exit.Code != 126 || info.Exit.Error == "" {
			break
		}
	}
	return c.attachProcess(ctx, service, id, info)
}
