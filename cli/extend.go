package cli

import (
	"context"
	"fmt"
	"time"

	"aibox/agents/spec"
	"aibox/internal/fault"

	"github.com/spf13/cobra"
)

// extendOptions is one call of `aibox extend`.
type extendOptions struct{ *cli }

func newExtendCommand(a *cli) *cobra.Command {
	o := extendOptions{cli: a}
	return &cobra.Command{
		Use:   "extend ID DURATION",
		Short: "Give a running session more time",
		Long: `Give a running session more time, up to 30 days at once. Shortly before its time limit, a
session asks for more itself, in the terminal UI and in its output.`,
		Example:           "  aibox extend 0dq4f 30m",
		Args:              sessionAndDuration,
		ValidArgsFunction: a.complete.running,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1]) },
	}
}

func sessionAndDuration(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes an id and a duration", cmd.CommandPath()).Hint("`%s 0dq4f 30m` gives half an hour", cmd.CommandPath())
}

func (o *extendOptions) run(ctx context.Context, text, duration string) error {
	by, err := spec.ParseDuration(duration)
	if err != nil {
		return fault.New(fault.Usage, "%q is not a duration", duration).Hint("use one such as 90s, 30m, 1h30m or 2d")
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if err := service.Extend(ctx, found.ID, by); err != nil {
		return err
	}
	live, err := service.Live(found.ID)
	if err != nil || live.Deadline.IsZero() {
		fmt.Fprintln(o.out, found.ID)
		return err
	}
	fmt.Fprintf(o.out, "%s can run until %s\n", found.ID, live.Deadline.Local().Format(time.DateTime))
	return nil
}
