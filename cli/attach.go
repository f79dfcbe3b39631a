package cli

import (
	"context"
	"errors"

	"aibox/internal/fault"

	"github.com/spf13/cobra"
)

// attachOptions is one call of `aibox attach`.
type attachOptions struct{ *cli }

func newAttachCommand(a *cli) *cobra.Command {
	o := attachOptions{cli: a}
	return &cobra.Command{
		Use:   "attach ID",
		Short: "Follow a session, or take part in it",
		Long: `Print everything the agent has printed, and follow its output until it ends. The exit
code is the session's. Ctrl-c stops following; the session keeps running.

A session started with -i takes the whole terminal, and what you type goes to the
agent. Press ctrl-p ctrl-q to detach and leave it running, or ctrl-p ctrl-s to scroll
back and search while the agent continues. You can attach several terminals; the
smallest sets the size. When the session ends, its last screen is printed.`,
		Example:           "  aibox attach 0dq4f",
		Args:              oneSession,
		ValidArgsFunction: a.complete.sessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
}

func (o *attachOptions) run(ctx context.Context, text string) error {
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if found.Interactive {
		return o.interactive(ctx, service, found)
	}
	printer := o.agentOutput(o.out)
	printer.renderEvents(service, found.ID)
	stop := o.watchRequests(ctx, service, found.ID, printer)
	ended, err := service.Follow(ctx, found.ID, 0, printer.show)
	stop()
	if err = errors.Join(err, printer.close()); err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "detached; %s is still running", found.ID).Hint("`aibox stop %s` ends it", found.ID)
		}
		return err
	}
	return ended.State.Result.Fault.Err()
}
