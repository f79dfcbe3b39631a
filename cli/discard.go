package cli

import (
	"context"
	"fmt"
	"path"
	"time"

	"aibox/session"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// discardOptions is one call of `aibox discard`.
type discardOptions struct{ *cli }

func newDiscardCommand(a *cli) *cobra.Command {
	o := discardOptions{cli: a}
	return &cobra.Command{
		Use:   "discard ID…",
		Short: "Discard the changes of sessions and remove their workspaces",
		Long: `Remove the workspaces of sessions that have ended. "aibox recover" can restore them
for 30 days, except for ignored files and files that git cannot store.`,
		Example:           "  aibox discard 0dq4f",
		Args:              someSessions,
		ValidArgsFunction: a.complete.allEnded,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, o.run)
		},
	}
}

func (o *discardOptions) run(ctx context.Context, service *manager.Manager, found session.Session) error {
	saved, err := service.Discard(ctx, found.ID)
	if err != nil || saved == nil {
		return err
	}
	for _, lost := range saved.NotKept {
		fmt.Fprintf(o.err, "%s not kept: %s %s\n", o.errTerm.warn("!"), lost.Path, safe(lost.Reason))
	}
	fmt.Fprintf(o.err, "%s aibox recover %s --ref %s  restores it as a branch, at least until %s\n", o.errTerm.faint("→"),
		found.ID, path.Base(saved.Ref), saved.Until.Local().Format(time.DateOnly))
	return nil
}
