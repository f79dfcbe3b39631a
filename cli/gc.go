package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/app/cleanup"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// gcOptions are the flags of `aibox gc`.
type gcOptions struct {
	*cli

	olderThan    string
	dryRun, json bool
}

func newGcCommand(a *cli) *cobra.Command {
	o := gcOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old reviewed sessions and unused data",
		Long: `Remove what has not been used for 30 days ("aibox config set keep" changes that):
records and workspaces of sessions whose work was accepted, discarded or empty, their
agents' conversations, outdated images, snapshots of sandboxes that have ended, and
clones of URLs, except those with commits that their servers do not have.
Remove unused data of any age: git objects, sandboxes, networks, and leftovers of
interrupted commands. Saved states (aibox recover) are removed after that time, but
never before they are 30 days old. Audit logs of removed sessions are kept for 90 days
("aibox config set audit-keep").

Work that has not been fully reviewed is kept, however old, and so is anything that is
running or cannot be read. A snapshot is kept while the sandbox that it was taken from, or
one that was created from it, still runs. A workspace is saved before it is removed. aibox
removes none of this unless you run this command.`,
		Example: "  aibox gc --dry-run\n  aibox gc\n  aibox gc --older-than 7d",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "print what would be removed, and remove nothing")
	f.StringVar(&o.olderThan, "older-than", "", "remove what has not been used for `TIME`, such as 7d or 12h, instead of the setting keep")
	_ = cmd.RegisterFlagCompletionFunc("older-than", fixed("1d", "7d", "30d", "0s"))
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *gcOptions) run(ctx context.Context) error {
	olderThan, err := o.retention()
	if err != nil {
		return err
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	report, err := cleanup.Run(ctx, o.app, cleanup.Options{OlderThan: olderThan, DryRun: o.dryRun})
	if report == nil {
		return err
	}
	if o.json {
		return errors.Join(printJSON(o.out, report), err)
	}
	return errors.Join(o.printFreed(report), err)
}

// retention returns how long unused data is kept: the flag, or else the setting.
func (o *gcOptions) retention() (time.Duration, error) {
	if o.olderThan == "" {
		return cleanup.Retention(o.app)
	}
	age, err := spec.ParseDuration(o.olderThan)
	if err != nil || age < 0 {
		return 0, fault.New(fault.Usage, "--older-than must be a duration, not %q", o.olderThan).Hint("such as 30d, 12h or 0s")
	}
	return age, nil
}

// printFreed prints what was removed and what was kept.
func (o *gcOptions) printFreed(report *cleanup.Report) error {
	for _, kept := range report.Kept {
		fmt.Fprintf(o.err, "%s kept: %s: %s\n", o.errTerm.warn("!"), termtext.Escape(kept.What), termtext.Escape(kept.Why))
	}
	_, bytes := report.Total()
	rows := make([][]string, 0, len(report.Freed))
	for _, freed := range report.Freed {
		rows = append(rows, []string{
			string(freed.Kind), fmt.Sprint(freed.Count), fmt.Sprint(freed.Files), amount.Bytes(freed.Bytes), termtext.Escape(strings.Join(freed.Names, " ")),
		})
	}
	switch {
	case len(rows) == 0:
		fmt.Fprintln(o.err, "there is nothing to remove")
		return nil
	case report.DryRun:
		fmt.Fprintf(o.err, "about %s would be freed; this was a dry run\n", amount.Bytes(bytes))
	default:
		fmt.Fprintf(o.err, "%s %s freed\n", o.errTerm.good("✓"), amount.Bytes(bytes))
	}
	return o.overview("KIND\tCOUNT\tFILES\tSIZE\tWHAT", rows)
}
