package cli

import (
	"context"

	"aibox/internal/fault"
	"aibox/ui/page"

	"github.com/spf13/cobra"
)

func (a *cli) reviewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "review ID",
		Short: "Review what a session changed, hunk by hunk on one screen",
		Long: `Open the review of the terminal UI on a session that has ended: files with risks
first, decisions by hunk, file or folder, comments, verification, and the delivery.`,
		Example:           "  aibox review 0dq4f",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.review(cmd.Context(), args[0]) },
	}
}

func (a *cli) review(ctx context.Context, text string) error {
	if !a.conversable() || accessible() {
		return fault.New(fault.Usage, "a review on the screen needs a terminal that can show it").
			Hint("`aibox diff %s` prints the changes, `aibox accept %s -p` asks line by line", text, text)
	}
	_, found, err := a.find(ctx, text)
	if err != nil {
		return err
	}
	return crashed(a.terminalUI(ctx, page.Review{ID: found.ID}))
}
