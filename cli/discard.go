package cli

import (
	"context"
	"fmt"
	"path"
	"time"

	"aibox/session"

	"github.com/spf13/cobra"
)

// discardOptions is one call of `aibox discard`.
type discardOptions struct{ *cli }

func newDiscardCommand(a *cli) *cobra.Command {
	o := discardOptions{cli: a}
	return &cobra.Command{
		Use:   "discard ID…",
		Short: "Drop sessions' changes and remove their workspaces",
		Long: `Remove the workspaces of sessions that have ended. What was in them can be brought
back with "aibox recover" for 30 days, except for ignored files and for what git
cannot hold.`,
		Example:           "  aibox discard 0dq4f",
		Args:              someSessions,
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, o.run)
		},
	}
}

func (o *discardOptions) run(ctx context.Context, service *session.Sessions, found session.Session) error {
	saved, err := service.Discard(ctx, found.ID)
	if err != nil || saved == nil {
		return err
	}
	for _, lost := range saved.NotKept {
		fmt.Fprintf(o.err, "%s not kept: %s %s\n", o.errTerm.warn("!"), lost.Path, safe(lost.Reason))
	}
	fmt.Fprintf(o.err, "%s aibox recover %s --ref %s  brings it back as a branch, until %s at least\n", o.errTerm.faint("→"),
		found.ID, path.Base(saved.Ref), saved.Until.Local().Format(time.DateOnly))
	return nil
}
