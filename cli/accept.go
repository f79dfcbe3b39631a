package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"

	"github.com/spf13/cobra"

	"aibox/review/accept"
	"aibox/review/worktree"
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
}

func newAcceptCommand(a *cli) *cobra.Command {
	o := acceptOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "accept ID [PATH…]",
		Short: "Take a session's changes, all or some, as a commit on a branch or into your files",
		Long: `Take what the agent changed: everything, or the paths (files, folders, globs) and
hunks named, or hunk by hunk with --interactive.

What is taken becomes a commit on a new branch of your repository, aibox/ID when you
name none; a later accept of the same session adds a commit to it. Your working tree,
index and current branch stay as they are. Uncommitted work that the agent started
from is a commit of its own below, so that the agent's commit shows the agent's
changes alone. With --to worktree it is merged into your files instead, all or
nothing, and your index and branches stay as they are.

A branch holds what git add would store, with your line endings and through your own
filters, such as those of Git LFS and git-crypt.

Files with risks, such as those that a tool of yours would execute by itself, are left
out and listed, unless --accept-risky names them.`,
		Example: `  aibox accept 0dq4f
  aibox accept 0dq4f src '*.md'
  aibox accept 0dq4f --hunks 3f9c21,88ab01
  aibox accept 0dq4f --interactive
  aibox accept 0dq4f --accept-risky Makefile
  aibox accept 0dq4f --to worktree --dry-run
  aibox accept 0dq4f --branch fix/login -m 'Fix the login'`,
		Args:              sessionAndPaths,
		ValidArgsFunction: a.completeSessionAndPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files, o.given = append(o.files, args[1:]...), cmd.Flags().Changed
			return o.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.files, "files", nil, "take only this `PATH`: a file, a folder or a glob (repeatable)")
	f.StringSliceVar(&o.hunks, "hunks", nil, "take only the hunk with this `ID`, see aibox diff --hunks (repeatable)")
	f.BoolVarP(&o.interactive, "interactive", "p", false, "choose hunk by hunk")
	f.StringArrayVar(&o.risky, "accept-risky", nil, "take this `FILE` in spite of its risks (repeatable)")
	f.StringVar(&o.to, "to", "branch", "where to: branch or worktree (`TARGET`)")
	f.StringVarP(&o.branch, "branch", "b", "", "the `NAME` of the branch")
	f.StringVarP(&o.message, "message", "m", "", "the commit message (`TEXT`); see aibox describe for the proposed one")
	f.BoolVarP(&o.edit, "edit", "e", false, "edit the message first; an empty one cancels")
	o.bind(f, config.Defaults())
	f.BoolVar(&o.noVerify, "no-verify", false, "deliver without running the session's --verify command on what is taken")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only tell what would be taken and left out, and where it would go")
	f.BoolVar(&o.json, "json", false, "print JSON")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"files":        a.completeChanged(func(review.Change) bool { return true }),
		"accept-risky": a.completeChanged(review.Change.Risky),
		"hunks":        a.completeHunks,
		"to":           cobra.FixedCompletions([]string{"branch", "worktree"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, complete)
	}
	return cmd
}

// check finds flags that contradict each other.
func (o *acceptOptions) check() error {
	var target accept.Target
	if err := target.UnmarshalText([]byte(o.to)); err != nil {
		return fault.New(fault.Usage, "--to takes branch or worktree, not %q", o.to).Hint("--to branch")
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
			return fault.New(fault.Usage, "%s and %s exclude each other", pair.one, pair.other).Hint("keep one of them")
		}
	}
	return nil
}

// target is where the work goes; check has made sure of it.
func (o *acceptOptions) target() accept.Target {
	var target accept.Target
	_ = target.UnmarshalText([]byte(o.to))
	return target
}

// choice is what the flags ask for.
func (o *acceptOptions) choice() review.Choice {
	return review.Choice{
		All: len(o.files)+len(o.hunks) == 0, Files: o.files, Hunks: o.hunks, Risky: o.risky,
	}
}

func (o *acceptOptions) run(ctx context.Context, text string) error {
	if err := o.check(); err != nil {
		return err
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	set, err := service.Changes(ctx, found.ID)
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
		if choice, err = o.chooseHunks(ctx, service, found, set); err != nil || choice.Empty() {
			return err
		}
	}
	plan, err := decision.NewPlan(ctx, set, choice)
	if err != nil {
		return err
	}
	if o.dryRun {
		var files *worktree.Plan
		if o.target() == accept.ToWorktree {
			if files, err = service.PlanWorktree(ctx, found.ID, set, choice); err != nil && !errors.Is(err, review.ErrNothing) {
				return err
			}
		}
		return o.printPlan(found, plan, files)
	}
	opts := accept.Options{Branch: o.branch, Choice: choice, Target: o.target(), Message: o.message}
	if opts.Message == "" {
		described, err := o.describeSet(service, found, plan.Part)
		if err != nil {
			return err
		}
		opts.Message = described.Message
	}
	if o.edit {
		if opts.Message, err = o.editMessage(ctx, opts.Message, plan.Part); err != nil {
			return err
		}
	}
	if !o.noVerify {
		request, err := o.verifyRequest(found, o.verifyFlags, o.given)
		if err != nil {
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
		return fault.New(fault.Usage, "what was chosen of %s is accepted already", found.ID).
			Hint("`aibox diff %s` shows its changes", found.ID)
	}
	if err != nil {
		return err
	}
	return o.printAccepted(found, accepted)
}

func nothingToAccept(id session.ID) error {
	return fault.New(fault.Usage, "%s changed nothing, so there is nothing to accept", id).
		Hint("`aibox logs %s` shows what its agent said", id)
}

// tellAccepted tells where the work is, and what was left out.
func (o *acceptOptions) printAccepted(found session.Session, accepted *accept.Result) error {
	if o.json {
		if err := printJSON(o.out, accepted); err != nil {
			return err
		}
	}
	o.printLeftOut(found.ID, accepted.Left)
	if accepted.Files == 0 {
		if len(o.files)+len(o.hunks) > 0 {
			return fault.New(fault.Refused, "nothing was accepted, because all that was chosen has risks").
				Hint("`aibox accept %s --accept-risky FILE` takes one in spite of them", found.ID)
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

// printLeftOut lists what was left out because of its risks, or of those of a file that it
// belongs together with.
func (c *console) printLeftOut(id session.ID, left []review.LeftOut) {
	for _, file := range left {
		fmt.Fprintf(c.err, "%s left out: %s\n", c.errTerm.warn("!"), file.Path)
		for _, r := range file.Risks {
			fmt.Fprintf(c.err, "    %s\n", notice(r.String()))
		}
		if file.With != "" {
			fmt.Fprintf(c.err, "    belongs together with %s, which is left out\n", file.With)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(c.err, "%s aibox accept %s --accept-risky FILE  takes one of them all the same\n", c.errTerm.faint("→"), id)
	}
}
