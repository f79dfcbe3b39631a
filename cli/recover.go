package cli

import (
	"context"
	"fmt"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"

	"github.com/spf13/cobra"

	"aibox/review/recovery"
)

// recoverOptions are the flags of `aibox recover`.
type recoverOptions struct {
	ref, branch             string
	toWorkspace, diff, json bool
}

func (a *cli) recoverCommand() *cobra.Command {
	var o recoverOptions
	cmd := &cobra.Command{
		Use:   "recover [ID]",
		Short: "List what can be brought back, look at it, or bring it back",
		Long: `List the states that aibox saved before each step that could lose work, such as
accept, discard, rm and run --resume. A state is kept for 30 days at least.

With --ref, make a branch of a state in your repository. With --to-workspace, make the
workspace of a session again instead, so that "aibox run --resume ID" goes on from there.
With --diff, only show what a state changes. Without --ref, the last two take the
newest state.`,
		Example: `  aibox recover
  aibox recover 0dq4f
  aibox recover 0dq4f --diff
  aibox recover 0dq4f --ref 2 --branch second-try
  aibox recover 0dq4f --to-workspace`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSaved,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 0 {
				text = args[0]
			}
			return a.recover(cmd.Context(), text, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ref, "ref", "", "the state to bring back or show: its `REF` in the list, or its commit")
	f.StringVarP(&o.branch, "branch", "b", "", "the `NAME` of the new branch")
	f.BoolVar(&o.toWorkspace, "to-workspace", false, "bring it back as the session's workspace, to be resumed")
	f.BoolVar(&o.diff, "diff", false, "show what the state changes, and bring nothing back")
	f.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("ref", a.completeNumbers)
	return cmd
}

func (a *cli) recover(ctx context.Context, text string, o recoverOptions) error {
	switch {
	case o.toWorkspace && o.diff:
		return fault.New(fault.Usage, "--to-workspace and --diff exclude each other").Hint("keep one of them")
	case o.branch != "" && (o.toWorkspace || o.diff):
		return fault.New(fault.Usage, "--branch goes with --ref alone").Hint("leave it out, or bring the state back as a branch")
	case o.branch != "" && o.ref == "":
		return fault.New(fault.Usage, "--branch needs --ref").Hint("`aibox recover` lists the numbers")
	case text == "" && (o.toWorkspace || o.diff) && o.ref == "":
		return fault.New(fault.Usage, "no session was named").Hint("`aibox recover` lists what can be brought back")
	}
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	a.repair(ctx, service)
	saved, err := service.Recoverable(ctx, text)
	if err != nil && len(saved) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(a.err, "%s %s\n", a.errTerm.warn("!"), safe(err.Error()))
	}
	if o.ref == "" && !o.diff && !o.toWorkspace {
		return a.listSaved(saved, o.json)
	}
	state, err := session.Pick(saved, text, o.ref)
	if err != nil {
		return err
	}
	switch {
	case o.diff:
		return a.diffSaved(ctx, state, o.json)
	case o.toWorkspace:
		return a.restoreWorkspace(ctx, service, text, state, o.json)
	default:
		return a.restoreBranch(ctx, service, state, o)
	}
}

func (a *cli) listSaved(saved []recovery.Point, asJSON bool) error {
	if asJSON {
		if saved == nil {
			saved = []recovery.Point{}
		}
		return printJSON(a.out, saved)
	}
	if len(saved) == 0 {
		fmt.Fprintln(a.err, "nothing is saved")
		return nil
	}
	rows := make([][]string, 0, len(saved))
	for _, s := range saved {
		rows = append(rows, []string{
			termtext.Escape(s.By), s.Handle, termtext.Escape(string(s.What)), amount.Age(time.Since(s.When)), s.Until.Local().Format(time.DateOnly),
			fmt.Sprintf("%s +%d -%d", amount.Of(s.Files, "file"), s.Added, s.Deleted), termtext.Escape(s.Repo),
		})
	}
	return a.overview("SESSION\tREF\tWHAT\tAGE\tUNTIL\tCHANGES\tREPOSITORY", rows)
}

func (a *cli) diffSaved(ctx context.Context, state recovery.Point, asJSON bool) error {
	set, err := state.Changes(ctx)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(a.out, set)
	case set.Empty():
		fmt.Fprintln(a.err, "nothing was changed")
		return nil
	case a.term.interactive:
		return set.Show(ctx, a.out, review.ShowOptions{Color: a.term.color, Context: -1})
	default:
		return set.Patch(ctx, a.out)
	}
}

func (a *cli) restoreBranch(ctx context.Context, service *session.Sessions, state recovery.Point, o recoverOptions) error {
	restored, err := service.Restore(ctx, state, o.branch)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(a.out, restored)
	}
	fmt.Fprintln(a.out, termtext.Escape(restored.Branch))
	fmt.Fprintf(a.err, "%s what was %s on %s is branch %s in %s\n", a.errTerm.good("✓"), termtext.Escape(string(state.What)),
		state.When.Local().Format(time.DateTime), termtext.Escape(restored.Branch), termtext.Escape(restored.Repo))
	a.tellBranches(nil, restored)
	return nil
}

// restoreWorkspace brings a state back as the workspace of the session that text
// names, or of the one that the state was saved of.
func (a *cli) restoreWorkspace(ctx context.Context, service *session.Sessions, text string, state recovery.Point, asJSON bool) error {
	if text == "" {
		text = state.By
	}
	found, err := service.Find(text)
	if err != nil {
		return fault.New(fault.Usage, "the record of %s is gone, and a workspace belongs to a session", state.By).
			Hint("`aibox recover %s --ref %s` makes a branch of it, and `aibox run --branch` starts a new session from there", state.By, state.Handle)
	}
	ws, err := service.RestoreWorkspace(ctx, found.ID, state)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.out, ws)
	}
	fmt.Fprintln(a.out, termtext.Escape(ws.Path))
	fmt.Fprintf(a.err, "%s %s has its workspace again, with what was %s on %s\n", a.errTerm.good("✓"), found.ID,
		termtext.Escape(string(state.What)), state.When.Local().Format(time.DateTime))
	fmt.Fprintf(a.err, "  aibox run --resume %s\n", found.ID)
	return nil
}

// completeSaved completes with the sessions that something is saved of.
func (a *cli) completeSaved(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := a.app.Sessions()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	saved, _ := service.Recoverable(cmd.Context(), "")
	var words []string
	told := map[string]bool{}
	for _, s := range saved {
		if !told[s.By] {
			told[s.By], words = true, append(words, s.By+"\t"+about(s))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeNumbers completes --ref with the states of the session named.
func (a *cli) completeNumbers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := a.app.Sessions()
	if err != nil || len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	saved, _ := service.Recoverable(cmd.Context(), args[0])
	var words []string
	for _, s := range saved {
		words = append(words, s.Handle+"\t"+about(s))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// about is a saved state in a few words.
func about(s recovery.Point) string {
	return fmt.Sprintf("%s %s ago, %s", termtext.Escape(string(s.What)), amount.Age(time.Since(s.When)), amount.Of(s.Files, "file"))
}
