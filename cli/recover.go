package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"

	"aibox/review/printer"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/manager"
)

// recoverOptions are the flags of `aibox recover`.
type recoverOptions struct {
	*cli

	ref, branch             string
	toWorkspace, diff, json bool
}

func newRecoverCommand(a *cli) *cobra.Command {
	o := recoverOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "recover [ID]",
		Short: "List, show or restore saved work",
		Long: `List the states that aibox saved before each step that could lose work, such as
accept, discard, rm and run --resume. States are kept for at least 30 days.

With --ref, restore a state as a branch of your repository. With --to-workspace,
restore the session's workspace instead, so that "aibox run --resume ID" can continue
from it. With --diff, only show what a state changes. Without --ref, --to-workspace
and --diff use the newest state.`,
		Example: `  aibox recover
  aibox recover 0dq4f
  aibox recover 0dq4f --diff
  aibox recover 0dq4f --ref 2 --branch second-try
  aibox recover 0dq4f --to-workspace`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.complete.saved,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 0 {
				text = args[0]
			}
			return o.run(cmd.Context(), text)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ref, "ref", "", "use the state `REF`: its number in the list, or its commit")
	f.StringVarP(&o.branch, "branch", "b", "", "restore it as the branch `NAME`")
	f.BoolVar(&o.toWorkspace, "to-workspace", false, "restore it as the session's workspace")
	f.BoolVar(&o.diff, "diff", false, "print what the state changes, and restore nothing")
	f.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("ref", a.complete.savedStates)
	return cmd
}

func (o *recoverOptions) run(ctx context.Context, text string) error {
	switch {
	case o.toWorkspace && o.diff:
		return fault.New(fault.Usage, "--to-workspace and --diff cannot be used together").Hint("keep one of them")
	case o.branch != "" && (o.toWorkspace || o.diff):
		return fault.New(fault.Usage, "--branch cannot be used with --to-workspace or --diff").Hint("drop it, or restore the state as a branch")
	case o.branch != "" && o.ref == "":
		return fault.New(fault.Usage, "--branch needs --ref").Hint("`aibox recover` lists the numbers")
	case text == "" && (o.toWorkspace || o.diff) && o.ref == "":
		return fault.New(fault.Usage, "no session was given").Hint("`aibox recover` lists the saved states")
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	saved, err := service.Recoverable(ctx, text)
	if err != nil && len(saved) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(o.err, "%s %s\n", o.errTerm.warn("!"), safe(err.Error()))
	}
	if o.ref == "" && !o.diff && !o.toWorkspace {
		return o.list(saved, o.json)
	}
	state, err := manager.Pick(saved, text, o.ref)
	if err != nil {
		return err
	}
	switch {
	case o.diff:
		return o.showDiff(ctx, state, o.json)
	case o.toWorkspace:
		return o.restoreWorkspace(ctx, service, text, state, o.json)
	default:
		return o.restoreBranch(ctx, service, state)
	}
}

func (o *recoverOptions) list(saved []recovery.Point, asJSON bool) error {
	if asJSON {
		if saved == nil {
			saved = []recovery.Point{}
		}
		return printJSON(o.out, saved)
	}
	if len(saved) == 0 {
		fmt.Fprintln(o.err, "nothing is saved")
		return nil
	}
	rows := make([][]string, 0, len(saved))
	for _, s := range saved {
		rows = append(rows, []string{
			termtext.Escape(s.By), s.Handle, termtext.Escape(string(s.What)), amount.Age(time.Since(s.When)), s.Until.Local().Format(time.DateOnly),
			fmt.Sprintf("%s +%d -%d", amount.Of(s.Files, "file"), s.Added, s.Deleted), termtext.Escape(s.Repo),
		})
	}
	return o.overview("SESSION\tREF\tWHAT\tAGE\tUNTIL\tCHANGES\tREPOSITORY", rows)
}

func (o *recoverOptions) showDiff(ctx context.Context, state recovery.Point, asJSON bool) error {
	set, err := state.Changes(ctx)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(o.out, set)
	case set.Empty():
		fmt.Fprintln(o.err, "nothing was changed")
		return nil
	case o.term.interactive:
		return printer.Diff(ctx, set, o.out, printer.DiffOptions{Color: o.term.color, Context: -1})
	default:
		return printer.Patch(ctx, set, o.out)
	}
}

func (o *recoverOptions) restoreBranch(ctx context.Context, service *manager.Manager, state recovery.Point) error {
	restored, err := service.Restore(ctx, state, o.branch)
	if restored == nil {
		return err
	}
	if o.json {
		return errors.Join(printJSON(o.out, restored), err)
	}
	fmt.Fprintln(o.out, termtext.Escape(restored.Branch))
	fmt.Fprintf(o.err, "%s the state %s on %s is now branch %s in %s\n", o.errTerm.good("✓"), termtext.Escape(string(state.What)),
		state.When.Local().Format(time.DateTime), termtext.Escape(restored.Branch), termtext.Escape(restored.Repo))
	o.printBranches(nil, restored)
	return err
}

// restoreWorkspace restores a state as the workspace of the session that text names, or
// else of the session that the state belongs to.
func (o *recoverOptions) restoreWorkspace(ctx context.Context, service *manager.Manager, text string, state recovery.Point, asJSON bool) error {
	if text == "" {
		text = state.By
	}
	found, err := service.Find(text)
	if err != nil {
		return fault.New(fault.Usage, "the record of %s is gone, so its workspace cannot be restored", state.By).
			Hint("restore it as a branch with `aibox recover %s --ref %s`, then start a new session with `aibox run --branch`", state.By, state.Handle)
	}
	ws, err := service.RestoreWorkspace(ctx, found.ID, state)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(o.out, ws)
	}
	fmt.Fprintln(o.out, termtext.Escape(ws.Path))
	fmt.Fprintf(o.err, "%s restored the workspace of %s, as %s on %s\n", o.errTerm.good("✓"), found.ID,
		termtext.Escape(string(state.What)), state.When.Local().Format(time.DateTime))
	fmt.Fprintf(o.err, "  %s\n", session.ResumeCommand(found.ID, found.Agent))
	return nil
}

// about describes a saved state in a few words.
func about(s recovery.Point) string {
	return fmt.Sprintf("%s %s ago, %s", termtext.Escape(string(s.What)), amount.Age(time.Since(s.When)), amount.Of(s.Files, "file"))
}
