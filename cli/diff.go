package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"

	"github.com/spf13/cobra"

	"aibox/review/printer"
	"aibox/session/manager"
)

// diffOptions are the flags of `aibox diff`.
type diffOptions struct {
	*cli

	paths, hunk                             []string // what part; both empty means all
	stat, names, status, json, hunks, patch bool
	null, contextGiven                      bool
	color                                   string
	context                                 int
}

func newDiffCommand(a *cli) *cobra.Command {
	o := diffOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "diff ID [PATH…]",
		Short: "Show what a session's agent changed",
		Long: `Show what the agent changed compared to the files it was given: everything, or only
the given files, folders and globs. For a running session, show what it changed so far.

On a terminal, files with risks come first with what they would run, comments appear
below their lines, control characters are escaped, and the output goes through your
pager ("aibox config set pager", else $PAGER, else less). Otherwise, and with --patch,
the output is a patch for "git apply", byte for byte what the agent wrote.`,
		Example: `  aibox diff 0dq4f
  aibox diff 0dq4f src '*.md'
  aibox diff --stat 0dq4f
  aibox diff 0dq4f --patch | git apply
  aibox diff 0dq4f --hunks                    # ids for aibox accept --hunks
  aibox diff 0dq4f --hunk 3f9c21 --patch      # one hunk as a patch
  aibox diff 0dq4f --color always | less -R`,
		Args:              sessionAndPaths,
		ValidArgsFunction: a.complete.sessionAndPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths, o.contextGiven = args[1:], cmd.Flags().Changed("unified")
			if err := refuseEmpty(cmd, "hunk", o.hunk); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.stat, "stat", false, "print only a table of the changed files")
	f.BoolVar(&o.names, "name-only", false, "print only the names")
	f.BoolVar(&o.status, "name-status", false, "print only the names, each with a status letter")
	f.BoolVarP(&o.null, "null", "z", false, "with --name-only or --name-status, print raw names, each followed by NUL")
	f.BoolVar(&o.hunks, "hunks", false, "list the hunks with their ids; with --json, include their lines")
	f.StringSliceVar(&o.hunk, "hunk", nil, "print only the hunk with this `ID` (repeatable)")
	f.BoolVarP(&o.patch, "patch", "p", false, "print a raw patch for git apply, even on a terminal")
	f.BoolVar(&o.json, "json", false, "print the change set as JSON")
	f.StringVar(&o.color, "color", "auto", "color the diff `WHEN`: auto, always or never")
	f.IntVarP(&o.context, "unified", "U", printer.DefaultContext, "print `N` unchanged lines around each change")
	f.BoolVar(&a.noPager, "no-pager", false, "do not use a pager")
	_ = cmd.RegisterFlagCompletionFunc("hunk", a.complete.hunks)
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check returns an error for flags that contradict each other.
func (o *diffOptions) check() error {
	var forms []string
	for _, form := range []struct {
		name  string
		given bool
	}{
		{"--stat", o.stat},
		{"--name-only", o.names},
		{"--name-status", o.status},
		{"--patch", o.patch},
		{"--hunks", o.hunks && !o.json},
		{"--json", o.json},
	} {
		if form.given {
			forms = append(forms, form.name)
		}
	}
	switch {
	case len(forms) > 1:
		return fault.New(fault.Usage, "%s and %s cannot be used together", forms[0], forms[1]).Hint("keep one of them")
	case len(o.paths) > 0 && len(o.hunk) > 0:
		return fault.New(fault.Usage, "paths and --hunk cannot be used together").Hint("keep one of them")
	case o.null && !o.names && !o.status:
		return fault.New(fault.Usage, "-z needs --name-only or --name-status").Hint("add one of them")
	case o.contextGiven && len(forms) > 0 && !o.patch:
		return fault.New(fault.Usage, "--unified and %s cannot be used together", forms[0]).Hint("keep one of them")
	case o.context < 0:
		return fault.New(fault.Usage, "--unified must be a number of lines, not %d", o.context).Hint("--unified %d", printer.DefaultContext)
	case !slices.Contains([]string{"auto", "always", "never"}, o.color):
		return fault.New(fault.Usage, "--color must be auto, always or never, not %q", o.color).Hint("--color always")
	}
	return nil
}

func (o *diffOptions) run(ctx context.Context, text string) error {
	if err := o.check(); err != nil {
		return err
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if found.Alive && found.State.Phase == session.Running {
		return service.ChangesSoFar(ctx, found.ID, func(set *review.ChangeSet) error { return o.print(ctx, service, found, set) })
	}
	set, err := service.Changes(ctx, found.ID)
	if err != nil {
		return err
	}
	return o.print(ctx, service, found, set)
}

// print prints a change set in the requested form.
func (o *diffOptions) print(ctx context.Context, service *manager.Manager, found session.Session, set *review.ChangeSet) error {
	scope, err := decision.NewScope(ctx, set, o.paths, o.hunk)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return o.printJSON(ctx, service, found.ID, scope, o.hunks)
	case o.hunks:
		return o.listHunks(ctx, scope)
	case o.patch || o.plain(o.term):
		printNotes(o.err, set)
		return o.printPatch(ctx, scope)
	case o.stat || o.names || o.status:
		printNotes(o.err, set)
		return o.piped(func(w io.Writer) error { return o.printList(ctx, w, scope.Set()) })
	}
	return o.paged(ctx, func(ctx context.Context, w io.Writer) error {
		return o.show(ctx, w, service, found, scope)
	})
}

// plain reports whether the standard output gets a patch because it is not a terminal.
func (o *diffOptions) plain(t terminal) bool {
	return !t.interactive && o.color != "always" && !o.stat && !o.names && !o.status
}

// printPatch writes a patch with the agent's bytes unchanged.
func (o *diffOptions) printPatch(ctx context.Context, scope *decision.Scope) error {
	if scope.Whole.Empty() {
		fmt.Fprintln(o.err, "nothing was changed")
		return nil
	}
	set, err := scope.Standalone(ctx)
	if err != nil {
		return err
	}
	return o.piped(func(w io.Writer) error { return printer.PatchWithContext(ctx, set, w, o.context) })
}

// printList writes one line per file.
func (o *diffOptions) printList(ctx context.Context, w io.Writer, set *review.ChangeSet) error {
	if set.Empty() {
		fmt.Fprintln(o.err, "nothing was changed")
		return nil
	}
	switch {
	case o.stat:
		return printer.Stat(set, w, o.term.width)
	case o.names && o.null:
		return printer.NamesZ(ctx, set, w)
	case o.names:
		return printer.Names(ctx, set, w)
	case o.null:
		return printer.NameStatusZ(ctx, set, w)
	default:
		return printer.NameStatus(ctx, set, w)
	}
}

// show writes the diff for a terminal: the header, the files with risks, the other
// files.
func (o *diffOptions) show(ctx context.Context, w io.Writer, service *manager.Manager, found session.Session, scope *decision.Scope) error {
	t := o.term
	if o.color != "auto" {
		t.color = o.color == "always"
	}
	set := scope.Set()
	if err := o.showHead(w, t, service, found, scope); err != nil || set.Empty() {
		return err
	}
	remarks, err := remarksOf(ctx, service, found.ID, scope.Whole)
	if err != nil {
		return err
	}
	for _, held := range []bool{true, false} {
		only := func(c *review.Change) bool { return c.Risky() == held && scope.Has(c.Path) }
		if !slices.ContainsFunc(set.Changes, func(c review.Change) bool { return only(&c) }) {
			continue
		}
		err := printer.Diff(ctx, scope.Whole, w, printer.DiffOptions{Color: t.color, Context: o.context, Remarks: remarks, Only: only})
		if err != nil {
			return err
		}
	}
	return nil
}
