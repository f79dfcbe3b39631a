package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// acceptOptions are the flags of `aibox accept`.
type acceptOptions struct {
	*cli

	files, hunks, risky    []string
	branch, message, to    string
	interactive, edit      bool
	dryRun, noVerify, json bool

	verifyFlags
	given func(flag string) bool

	delivered func() error // is called after an interactive accept; may be nil
}

func newAcceptCommand(a *cli) *cobra.Command {
	o := acceptOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "accept ID [PATH…]",
		Short: "Accept a session's changes as a commit on a branch or into your files",
		Long: `Accept what the agent changed: everything, the given paths (files, folders, globs) and
hunks, or hunk by hunk with --interactive.

By default, aibox commits the changes to a new branch of your repository, aibox/ID
unless --branch names one. Accepting more of the same session adds another commit.
Your working tree, index and current branch do not change. Uncommitted work that the
agent started from gets its own commit first, so the agent's commit shows only the
agent's changes. With --to worktree, aibox merges the changes into your files instead,
all or nothing; your index and branches do not change.

The commit holds what git add would store: your line endings, and the output of your
own filters, such as Git LFS and git-crypt. --dry-run runs the filters too, to find out
whether one fails, and discards their output.

Files with risks, such as those that your tools would execute automatically, are
listed and left out unless --accept-risky names them.`,
		Example: `  aibox accept 0dq4f
  aibox accept 0dq4f src '*.md'
  aibox accept 0dq4f --hunks 3f9c21,88ab01
  aibox accept 0dq4f --interactive
  aibox accept 0dq4f --accept-risky Makefile
  aibox accept 0dq4f --to worktree --dry-run
  aibox accept 0dq4f --branch fix/login -m 'Fix the login'`,
		Args:              sessionAndPaths,
		ValidArgsFunction: a.complete.sessionAndPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files, o.given = append(o.files, args[1:]...), cmd.Flags().Changed
			if err := refuseEmpty(cmd, "hunks", o.hunks); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.files, "files", nil, "accept only this `PATH`: a file, folder or glob (repeatable)")
	f.StringSliceVar(&o.hunks, "hunks", nil, "accept only the hunk with this `ID`; see aibox diff --hunks (repeatable)")
	f.BoolVarP(&o.interactive, "interactive", "p", false, "choose what to accept, hunk by hunk")
	f.StringArrayVar(&o.risky, "accept-risky", nil, "accept this `FILE` despite its risks (repeatable)")
	f.StringVar(&o.to, "to", "branch", "deliver the changes to `TARGET`: branch or worktree")
	f.StringVarP(&o.branch, "branch", "b", "", "commit to the branch `NAME`")
	f.StringVarP(&o.message, "message", "m", "", "use `TEXT` as the commit message; aibox describe prints the default")
	f.BoolVarP(&o.edit, "edit", "e", false, "edit the message first; an empty message cancels")
	o.bind(f, config.Defaults())
	f.BoolVar(&o.noVerify, "no-verify", false, "do not run the session's --verify command on the accepted changes")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "print what would be accepted and left out, and change nothing")
	f.BoolVar(&o.json, "json", false, "print JSON")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"files":        a.complete.changed(func(review.Change) bool { return true }),
		"accept-risky": a.complete.changed(review.Change.Risky),
		"hunks":        a.complete.hunks,
		"to":           cobra.FixedCompletions([]string{"branch", "worktree"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete)
	}
	return cmd
}

// check returns an error for flags that contradict each other.
func (o *acceptOptions) check() error {
	var target accept.Target
	if err := target.UnmarshalText([]byte(o.to)); err != nil {
		return fault.New(fault.Usage, "--to must be branch or worktree, not %q", o.to).Hint("--to branch")
	}
	for _, pair := range []struct {
		one, other string
		both       bool
	}{
		{"--interactive", "--hunks", o.interactive && len(o.hunks) > 0},
		{"--interactive", "--accept-risky", o.interactive && len(o.risky) > 0},
		{"--to worktree", "--branch", target == accept.ToWorktree && o.branch != ""},
		{"--to worktree", "--message", target == accept.ToWorktree && o.message != ""},
		{"--to worktree", "--edit", target == accept.ToWorktree && o.edit},
		{"--dry-run", "--edit", o.dryRun && o.edit},
		{"--dry-run", "--verify", o.dryRun && o.command != ""},
		{"--verify", "--no-verify", o.command != "" && o.noVerify},
	} {
		if pair.both {
			return fault.New(fault.Usage, "%s and %s cannot be used together", pair.one, pair.other).Hint("keep one of them")
		}
	}
	return nil
}

// target returns the target of the delivery; check has validated it.
func (o *acceptOptions) target() accept.Target {
	var target accept.Target
	_ = target.UnmarshalText([]byte(o.to))
	return target
}

// choice returns the changes that the flags select.
func (o *acceptOptions) choice() review.Choice {
	return review.Choice{
		All: len(o.files)+len(o.hunks) == 0, Files: o.files, Hunks: o.hunks, Risky: o.risky,
	}
}

func (o *acceptOptions) run(ctx context.Context, text string) error {
	if err := o.check(); err != nil {
		return err
	}
	service, found, set, err := o.findChanges(ctx, text)
	if err != nil {
		return err
	}
	if set.Empty() {
		return nothingToAccept(found.ID)
	}
	choice, err := service.WithoutRejected(ctx, found.ID, set, o.choice())
	if err != nil {
		return err
	}
	if o.interactive {
		choice, err = o.chooseHunks(ctx, service, found, set)
		switch {
		case err != nil:
			return err
		case choice.Empty() && o.json:
			return printJSON(o.out, accept.Result{Target: o.target(), Repo: found.Repository})
		case choice.Empty():
			return nil
		}
	}
	decisions, err := service.Decisions(found.ID)
	if err != nil {
		return err
	}
	plan, err := decision.NewPlan(ctx, set, choice, decisions.Delivered(o.target(), o.branch))
	if err != nil {
		return err
	}
	if o.dryRun {
		var files *worktree.Plan
		if o.target() == accept.ToWorktree {
			files, err = service.PlanWorktree(ctx, found.ID, set, choice)
		} else {
			err = service.CheckBranch(ctx, found.ID, set, accept.Options{Branch: o.branch, Choice: choice})
		}
		if err != nil && !errors.Is(err, review.ErrNothing) {
			return err
		}
		return o.printPlan(found, plan, files)
	}
	opts := accept.Options{Branch: o.branch, Choice: choice, Target: o.target(), Message: o.message}
	if opts.Message == "" {
		described, err := describeSet(service, found, plan.Part)
		if err != nil {
			return err
		}
		opts.Message = described.Message
		o.printRedacted(described.Secrets)
	}
	if o.edit {
		if opts.Message, err = o.editMessage(ctx, opts.Message, plan.Part); err != nil {
			return err
		}
	}
	if !o.noVerify {
		request, err := o.request(o.given)
		if err != nil {
			return err
		}
		if request, err = o.app.VerifyRequest(found, request); err != nil {
			return err
		}
		output := o.agentOutput(o.err)
		request.Show = output.show
		if opts.Verify = output.around(service.Verifier(found, request)); opts.Verify != nil {
			o.warnUnset(found.Env)
		}
	}
	accepted, err := service.AcceptSet(ctx, found.ID, set, opts)
	if errors.Is(err, review.ErrNothing) {
		return fault.New(fault.Usage, "the selected changes of %s are already accepted", found.ID).
			Hint("`aibox diff %s` shows its changes", found.ID)
	}
	if err != nil {
		return err
	}
	if len(accepted.Left) == 0 { // else the user can decide again
		o.removeDraft()
	}
	if err := o.printAccepted(found, accepted); err != nil {
		return err
	}
	return o.printRemaining(service, found.ID, set)
}

func nothingToAccept(id session.ID) error {
	return fault.New(fault.Usage, "%s changed nothing, so there is nothing to accept", id).
		Hint("`aibox logs %s` shows the agent's output", id)
}

// removeDraft removes the decisions of an interactive review, after they were delivered. It only warns if it
// cannot, because the delivery has succeeded.
func (o *acceptOptions) removeDraft() {
	if o.delivered == nil {
		return
	}
	if err := o.delivered(); err != nil {
		fmt.Fprintf(o.err, "%s your decisions are still stored: %s\n", o.errTerm.warn("!"), notice(err.Error()))
	}
}

// printAccepted prints where the work was delivered, and the files that were left out.
func (o *acceptOptions) printAccepted(found session.Session, accepted *accept.Result) error {
	if o.json {
		if err := printJSON(o.out, accepted); err != nil {
			return err
		}
	}
	o.printRedacted(accepted.Secrets)
	o.printLeftOut(found.ID, accepted.Left)
	if accepted.Files == 0 {
		if len(o.files)+len(o.hunks) > 0 {
			command, effect := acceptAnyway(found.ID, accepted.Left)
			return fault.New(fault.Refused, "nothing was accepted: everything selected has risks").Hint("`%s` %s", command, effect)
		}
		fmt.Fprintf(o.err, "%s nothing was accepted\n", o.errTerm.warn("!"))
		return nil
	}
	where := "in the working tree of"
	if accepted.Target == accept.ToBranch {
		where = "on branch " + termtext.Escape(accepted.Branch) + " in"
	}
	if !o.json {
		if accepted.Target == accept.ToBranch {
			fmt.Fprintln(o.out, termtext.Escape(accepted.Branch))
		}
		for _, path := range accepted.Paths {
			fmt.Fprintln(o.out, path)
		}
	}
	fmt.Fprintf(o.err, "%s %s %s %s\n", o.errTerm.good("✓"), amount.Of(accepted.Files, "file"), where, termtext.Escape(accepted.Repo))
	o.printBranches(found.State.Workspace, accepted)
	return nil
}

// printRemaining names the files of which something is neither accepted nor left out above.
func (c *console) printRemaining(service *manager.Manager, id session.ID, set *review.ChangeSet) error {
	left, err := service.Remaining(id, set)
	if err != nil {
		return err
	}
	left.Risky = nil
	for _, line := range left.Lines() {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.faint("→"), line)
	}
	return nil
}

// printLeftOut lists the files that were left out because of their risks, or because they
// depend on such a file.
func (c *console) printLeftOut(id session.ID, left []review.LeftOut) {
	for _, file := range left {
		fmt.Fprintf(c.err, "%s left out: %s\n", c.errTerm.warn("!"), file.Path)
		for _, r := range file.Risks {
			fmt.Fprintf(c.err, "    %s\n", notice(r.String()))
		}
		if file.With != "" {
			fmt.Fprintf(c.err, "    depends on %s, which is left out\n", file.With)
		}
	}
	if len(left) > 0 {
		command, effect := acceptAnyway(id, left)
		fmt.Fprintf(c.err, "%s %s  %s\n", c.errTerm.faint("→"), command, effect)
	}
}

// acceptAnyway is a command that accepts a file, or a part of one, that was left out, and what it does.
func acceptAnyway(id session.ID, left []review.LeftOut) (command, effect string) {
	for _, file := range left {
		if len(file.Hunks) > 0 { // --accept-risky alone would accept all of it
			return fmt.Sprintf("aibox accept %s --hunks %s --accept-risky '%s'", id, strings.Join(file.Hunks, ","), file.Path), "accepts that part of it anyway"
		}
	}
	return fmt.Sprintf("aibox accept %s --accept-risky FILE", id), "accepts one of them anyway"
}
