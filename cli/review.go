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
		Short: "Review a session's changes on the screen",
		Long: `Open the terminal UI's review of a session that has ended. Files with risks come
first. Decide by hunk, file or folder, comment, verify, and accept.`,
		Example:           "  aibox review 0dq4f",
		Args:              oneSession,
		ValidArgsFunction: a.complete.sessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
}

func (o *reviewOptions) run(ctx context.Context, text string) error {
	if !o.isInteractive() || accessible() {
		return fault.New(fault.Usage, "the review screen needs a terminal").
			Hint("`aibox diff %s` prints the changes, `aibox accept %s -p` asks line by line", text, text)
	}
	_, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	return crashed(o.terminalUI(ctx, page.Review{ID: found.ID}))
}
