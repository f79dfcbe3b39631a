package cli

import (
	"context"
	"errors"
	"io"

	"aibox/internal/fault"
	"aibox/session/output"

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
		ValidArgsFunction: a.completeSessions,
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
	ended, err := service.Follow(ctx, found.ID, 0, printer.show)
	if err = errors.Join(err, printer.close()); err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "detached; %s is still running", found.ID).Hint("`aibox stop %s` ends it", found.ID)
		}
		return err
	}
	return ended.State.Result.Fault.Err()
}

// logsOptions are the flags of `aibox logs`.
type logsOptions struct {
	*cli

	follow bool
	raw    bool
	screen bool
}

func newLogsCommand(a *cli) *cobra.Command {
	o := logsOptions{cli: a}
	cmd := &cobra.Command{
		Use:               "logs ID",
		Short:             "Print the output of a session's agent",
		Example:           "  aibox logs 0dq4f\n  aibox logs --screen 0dq4f\n  aibox logs --raw 0dq4f > output",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow the output until the session ends")
	cmd.Flags().BoolVar(&o.screen, "screen", false, "print the current or last screen of an interactive session")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "print the raw bytes, which are not safe for a terminal")
	return cmd
}

func (o *logsOptions) run(ctx context.Context, text string) error {
	if o.raw && o.term.interactive {
		return fault.New(fault.Usage, "--raw would send the agent's own control sequences to your terminal").
			Hint("redirect it to a file or a pipe, or drop --raw")
	}
	if o.screen && (o.raw || o.follow) {
		return fault.New(fault.Usage, "--screen shows a single moment, not the whole output").Hint("drop --raw and --follow")
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if o.screen {
		return o.printScreen(ctx, service, found)
	}
	printer := o.agentOutput(o.out)
	show, flush := printer.show, printer.close
	if o.raw {
		show, flush = rawChunks(o.out), func() error { return nil }
	}
	if o.follow {
		_, err = service.Follow(ctx, found.ID, 0, show)
	} else {
		_, err = service.Output(found.ID, 0, show)
	}
	return errors.Join(err, flush())
}

func rawChunks(out io.Writer) func(output.Chunk) error {
	return func(chunk output.Chunk) error {
		if chunk.Stream == output.Notice {
			return nil // the agent did not write it
		}
		_, err := out.Write(chunk.Data)
		return err
	}
}
