package cli

import (
	"context"
	"fmt"
	"time"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"

	"github.com/spf13/cobra"
)

// recoverOptions are the flags of `aibox recover`.
type recoverOptions struct {
	ref, branch string
	json        bool
}

func (a *app) recoverCommand() *cobra.Command {
	var o recoverOptions
	cmd := &cobra.Command{
		Use:   "recover [ID]",
		Short: "List what can be brought back, or bring it back as a branch",
		Long: `Without --ref, list the states that aibox saved before each step that could lose
work. With --ref, make a branch of that state in your repository.`,
		Example: `  aibox recover
  aibox recover 0dq4f-codex --ref refs/aibox/0dq4f-codex/2`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.recover(cmd.Context(), args, o)
		},
	}
	cmd.Flags().StringVar(&o.ref, "ref", "", "bring this state (`REF`) back")
	cmd.Flags().StringVarP(&o.branch, "branch", "b", "", "the `NAME` of the new branch")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *app) recover(ctx context.Context, args []string, o recoverOptions) error {
	service, err := a.service()
	if err != nil {
		return err
	}
	a.repair(ctx, service)
	var id session.ID
	if len(args) > 0 {
		// The session itself may be gone, so its id is not looked up.
		if id, err = session.ParseID(args[0]); err != nil {
			return err
		}
		if found, err := service.Find(args[0]); err == nil {
			id = found.ID
		}
	}
	saved, err := service.Recoverable(ctx, id)
	if err != nil {
		return err
	}
	if o.ref != "" {
		return a.restore(ctx, service, saved, o)
	}
	if o.json {
		return printJSON(a.out, saved)
	}
	if len(saved) == 0 {
		fmt.Fprintln(a.err, "nothing is saved")
		return nil
	}
	rows := make([][]string, 0, len(saved))
	for _, s := range saved {
		rows = append(rows, []string{s.Session, string(s.What), age(s.When), termtext.Escape(s.Repo), s.Ref})
	}
	return table(a.out, "SESSION\tWHAT\tAGE\tREPOSITORY\tREF", rows)
}

func (a *app) restore(ctx context.Context, service *session.Sessions, saved []review.Saved, o recoverOptions) error {
	for _, state := range saved {
		if state.Ref != o.ref {
			continue
		}
		restored, err := service.Restore(ctx, state, o.branch)
		if err != nil {
			return err
		}
		if o.json {
			return printJSON(a.out, restored)
		}
		fmt.Fprintln(a.out, termtext.Escape(restored.Branch))
		fmt.Fprintf(a.err, "%s %s of %s is branch %s in %s\n", a.errTerm.good("✓"), state.What,
			state.When.Local().Format(time.DateTime), termtext.Escape(restored.Branch), termtext.Escape(restored.Repo))
		return nil
	}
	return fault.New(fault.Usage, "nothing is saved under %q", o.ref).Hint("`aibox recover` lists what is")
}
