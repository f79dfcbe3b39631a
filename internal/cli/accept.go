package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"

	"github.com/spf13/cobra"
)

// acceptOptions are the flags of `aibox accept`.
type acceptOptions struct {
	branch, message string
	json            bool
}

func (a *app) acceptCommand() *cobra.Command {
	var o acceptOptions
	cmd := &cobra.Command{
		Use:   "accept ID",
		Short: "Take a session's changes as a commit on a new branch",
		Long: `Make a commit of everything the agent changed on a new branch of your repository,
aibox/ID when you name none. Your working tree, index and current branch stay as
they are. Uncommitted work that the agent started from is a commit of its own
below, so that the agent's commit shows the agent's changes alone.`,
		Example:           "  aibox accept 0dq4f\n  aibox accept 0dq4f --branch fix/login -m 'Fix the login'",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.accept(cmd.Context(), args[0], o) },
	}
	cmd.Flags().StringVarP(&o.branch, "branch", "b", "", "the `NAME` of the new branch")
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "the commit message (`TEXT`)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *app) accept(ctx context.Context, text string, o acceptOptions) error {
	service, found, err := a.find(ctx, text)
	if err != nil {
		return err
	}
	if o.message == "" {
		o.message = defaultMessage(found.Agent, found.Prompt)
	}
	accepted, err := service.Accept(ctx, found.ID, review.AcceptOptions{Choice: review.Choice{All: true}, Branch: o.branch, Message: o.message})
	if errors.Is(err, review.ErrNothing) {
		return fault.New(fault.Usage, "%s changed nothing, so there is nothing to accept", found.ID)
	}
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(a.out, accepted)
	}
	fmt.Fprintln(a.out, termtext.Escape(accepted.Branch))
	fmt.Fprintf(a.err, "%s %s on branch %s in %s\n", a.errTerm.good("✓"), files(accepted.Files),
		termtext.Escape(accepted.Branch), termtext.Escape(accepted.Repo))
	return nil
}

func (a *app) discardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discard ID…",
		Short: "Drop sessions' changes and remove their workspaces",
		Long: `Remove the workspaces of sessions that have ended. What was in them can be brought
back with "aibox recover" for 30 days.`,
		Example:           "  aibox discard 0dq4f",
		Args:              someSessions,
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, service *session.Sessions, found session.Session) error {
				_, err := service.Discard(ctx, found.ID)
				return err
			})
		},
	}
}
