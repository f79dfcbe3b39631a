package cli

import (
	"context"

	"aibox/internal/fault"
	"aibox/ui/page"

	"github.com/spf13/cobra"
)

// reviewOptions is one call of `aibox review`.
type reviewOptions struct{ *cli }

func newReviewCommand(a *cli) *cobra.Command {
	o := reviewOptions{cli: a}
	return &cobra.Command{
		Use:   "review ID",
		Short: "Review what a session changed, hunk by hunk on one screen",
		Long: `Open the review of the terminal UI on a session that has ended: files with risks
first, decisions by hunk, file or folder, comments, verification, and the delivery.`,
		Example:           "  aibox review 0dq4f",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
}

func (o *reviewOptions) run(ctx context.Context, text string) error {
	if !o.isInteractive() || accessible() {
		return fault.New(fault.Usage, "a review on the screen needs a terminal that can show it").
			Hint("`aibox diff %s` prints the changes, `aibox accept %s -p` asks line by line", text, text)
	}
	_, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	return crashed(o.terminalUI(ctx, page.Review{ID: found.ID}))
}
