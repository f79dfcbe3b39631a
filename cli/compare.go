package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/comparison"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// compareOptions are the flags of `aibox compare`.
type compareOptions struct {
	*cli

	json, diff bool
}

func newCompareCommand(a *cli) *cobra.Command {
	o := compareOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "compare BATCH | ID… | --diff ID ID",
		Short: "Show the results of several sessions side by side",
		Long: `Show how the sessions of a batch, or any sessions, ended, what they cost, and which
files each of them changed. The id of one session selects its whole batch. "=" marks
a file that an earlier session left with the same content.

With --diff, show the difference between the results of two sessions: what to change
in the first result to get the second one.`,
		Example: `  aibox compare b-0dq4f
  aibox compare 0dq4f 0dq4g
  aibox compare --diff 0dq4f 0dq4g
  aibox compare b-0dq4f --json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.complete.compared,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show the difference between the results of two sessions")
	cmd.Flags().BoolVar(&a.noPager, "no-pager", false, "do not use a pager")
	return cmd
}

func (o *compareOptions) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return fault.New(fault.Usage, "aibox compare needs a batch or sessions").Hint("`aibox ls` lists the sessions with their batches")
	case o.diff && o.json:
		return fault.New(fault.Usage, "--diff and --json cannot be used together").Hint("keep one of them")
	case o.diff && len(args) != 2:
		return fault.New(fault.Usage, "--diff takes two session ids, not %d", len(args)).Hint("`aibox ls` lists the sessions")
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	service.ComputeUnknown(ctx)
	sessions, err := o.members(service, args)
	if err != nil {
		return err
	}
	compared := comparison.New(sessions, service)
	switch {
	case o.diff:
		return o.showDifference(ctx, sessions, compared)
	case o.json:
		return printJSON(o.out, compared)
	}
	return errors.Join(printMembers(o.console, compared), o.printFiles(compared))
}

// members returns the sessions that the arguments name, each once.
func (o *compareOptions) members(service *manager.Manager, args []string) ([]session.Session, error) {
	var sessions []session.Session
	add := func(more ...session.Session) {
		for _, one := range more {
			if !slices.ContainsFunc(sessions, func(s session.Session) bool { return s.ID == one.ID }) {
				sessions = append(sessions, one)
			}
		}
	}
	for _, text := range args {
		if session.IsBatch(text) && !o.diff {
			_, members, err := service.Batch(text)
			if err != nil {
				return nil, err
			}
			add(members...)
			continue
		}
		one, err := service.Find(text)
		if err != nil {
			return nil, err
		}
		spareMemory(&one)
		add(one)
		if len(args) == 1 && one.Batch != "" {
			_, members, err := service.Batch(string(one.Batch))
			if err != nil {
				return nil, err
			}
			add(members...)
		}
	}
	if len(sessions) < 2 {
		reason := "it belongs to no batch"
		switch {
		case len(args) > 1:
			reason = "it is the only session that you named"
		case sessions[0].Batch != "":
			reason = fmt.Sprintf("it is the only session of %s that is left", sessions[0].Batch)
		}
		return nil, fault.New(fault.Usage, "%s has nothing to compare it with: %s", sessions[0].ID, reason).
			Hint("name several sessions; `aibox ls` lists them")
	}
	return sessions, nil
}

// showDifference prints what leads from the result of the first session to that of the
// second.
func (o *compareOptions) showDifference(ctx context.Context, sessions []session.Session, compared *comparison.Comparison) error {
	member := func(id session.ID) *comparison.Member {
		i := slices.IndexFunc(compared.Members, func(m comparison.Member) bool { return m.ID == id })
		return &compared.Members[i]
	}
	set, err := comparison.Difference(ctx, member(sessions[0].ID), member(sessions[1].ID))
	if err != nil {
		return err
	}
	if set.Empty() {
		fmt.Fprintf(o.err, "%s and %s have the same result\n", sessions[0].ID, sessions[1].ID)
		return nil
	}
	if !o.term.interactive {
		return o.piped(func(w io.Writer) error { return printer.Patch(ctx, set, w) })
	}
	return o.paged(ctx, func(ctx context.Context, w io.Writer) error {
		return errors.Join(printer.Stat(set, w, o.term.width), printer.Diff(ctx, set, w, printer.DiffOptions{Color: o.term.color, Context: printer.DefaultContext}))
	})
}

// maxCompareColumns is the number of sessions that get a column each in the table of files.
const maxCompareColumns = 8

// printFiles prints which session changed which file.
func (o *compareOptions) printFiles(c *comparison.Comparison) error {
	if len(c.Files) == 0 {
		return nil
	}
	fmt.Fprintln(o.out)
	if len(c.Members) > maxCompareColumns {
		return o.listFiles(c)
	}
	header := make([]string, 0, len(c.Members)+1)
	for i := range c.Members {
		header = append(header, number(c.Members[i].ID))
	}
	rows := make([][]string, 0, len(c.Files))
	for i := range c.Files {
		file, row := &c.Files[i], make([]string, 0, len(c.Members)+1)
		for _, m := range c.Members {
			row = append(row, cell(file.Of(m.ID)))
		}
		rows = append(rows, append(row, file.Path.String()))
	}
	return o.overview(strings.Join(append(header, "FILE"), "\t"), rows)
}

// listFiles prints each file with the sessions that changed it.
func (o *compareOptions) listFiles(c *comparison.Comparison) error {
	rows := make([][]string, 0, len(c.Files))
	for i := range c.Files {
		var by []string
		for j := range c.Files[i].By {
			change := &c.Files[i].By[j]
			by = append(by, number(change.ID)+" "+cell(change))
		}
		rows = append(rows, []string{c.Files[i].Path.String(), strings.Join(by, ", ")})
	}
	return table(o.out, "FILE\tCHANGED BY", rows)
}

// cell describes a session's change of a file in a few characters; nil is none.
func cell(change *comparison.Change) string {
	switch {
	case change == nil:
		return "–"
	case change.SameAs != "":
		return "="
	case change.Mode != "":
		return change.Kind.Letter() + " " + review.DescribeMode("", change.Mode)
	case change.Binary && change.Kind == review.Deleted:
		return change.Kind.Letter() + " binary"
	case change.Binary:
		return change.Kind.Letter() + " binary, " + amount.Bytes(change.Size)
	}
	return fmt.Sprintf("%s +%d -%d", change.Kind.Letter(), change.Added, change.Deleted)
}
