package cli

import (
	"context"
	"fmt"

	"aibox/internal/fault"
	"aibox/review"

	"github.com/spf13/cobra"
)

// diffOptions are the flags of `aibox diff`.
type diffOptions struct {
	stat, names, json bool
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show what a session's agent changed",
		Long: `Show what the agent changed against the files it was given, as a unified diff.
On a terminal the text is filtered and colored; elsewhere it is a patch that
"git apply" takes, byte for byte what the agent wrote.`,
		Example:           "  aibox diff 0dq4f\n  aibox diff --stat 0dq4f\n  aibox diff 0dq4f > work.patch",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "only the table of changed files")
	cmd.Flags().BoolVar(&o.names, "name-status", false, "only the names, with a letter for what happened")
	cmd.Flags().BoolVar(&o.json, "json", false, "the change set as JSON")
	return cmd
}

func (a *app) diff(ctx context.Context, text string, o diffOptions) error {
	if o.stat && o.names || o.stat && o.json || o.names && o.json {
		return fault.New(fault.Usage, "--stat, --name-status and --json exclude each other").Hint("keep one of them")
	}
	service, found, err := a.find(ctx, text)
	if err != nil {
		return err
	}
	set, err := service.Changes(ctx, found.ID)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(a.out, set)
	}
	printNotes(a.err, set)
	switch {
	case set.Empty():
		fmt.Fprintln(a.err, "nothing was changed")
		return nil
	case o.stat:
		return set.Stat(a.out, a.term.width)
	case o.names:
		return set.NameStatus(a.out)
	case a.term.interactive:
		return set.Show(ctx, a.out, review.ShowOptions{Color: a.term.color, Context: -1})
	default:
		return set.Patch(ctx, a.out)
	}
}
