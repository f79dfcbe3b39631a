package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"

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
agents' conversations, and outdated images. Remove unused data of any age: git
objects, sandboxes, networks, and leftovers of interrupted commands. Saved states
(aibox recover) are removed after that time, but never before they are 30 days old.

Work that has not been fully reviewed is kept, however old, and so is anything that is
running or cannot be read. A workspace is saved before it is removed. aibox removes
nothing unless you run this command.`,
		Example: "  aibox gc --dry-run\n  aibox gc\n  aibox gc --older-than 7d",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show what would be removed")
	f.StringVar(&o.olderThan, "older-than", "", "remove what has not been used for this `TIME`, such as 7d or 12h; overrides the setting keep")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *gcOptions) run(ctx context.Context) error {
	olderThan, err := o.retention(o.olderThan)
	if err != nil {
		return err
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	report, err := service.GC(ctx, session.GCOptions{OlderThan: olderThan, DryRun: o.dryRun})
	if report == nil {
		return err
	}
	err = errors.Join(err, o.images(ctx, service, report, olderThan), o.caches(ctx, report, olderThan))
	if o.json {
		return errors.Join(printJSON(o.out, report), gcFault(ctx, err))
	}
	return errors.Join(o.printFreed(report), gcFault(ctx, err))
}

// gcFault adds a hint to what a clean-up could not do.
func gcFault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; the rest was not removed")
	default:
		return fault.New(fault.Environment, "not everything could be removed: %w", err).Hint("the rest is done; run it again once this is fixed")
	}
}

// retention is how old what goes must be: what the command line says, or else the
// settings.
func (o *gcOptions) retention(text string) (time.Duration, error) {
	if text == "" {
		own, err := o.app.UserSettings()
		if err != nil {
			return 0, err
		}
		return own.Settings.Keep, nil
	}
	age, err := spec.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, fault.New(fault.Usage, "--older-than must be a duration, not %q", text).Hint("such as 30d, 12h or 0s")
	}
	return age, nil
}

// gcImages removes outdated images of aibox.
func (o *gcOptions) images(ctx context.Context, service *session.Sessions, report *session.GCReport, olderThan time.Duration) error {
	named, known, err := service.Images()
	if err != nil {
		return err
	}
	if !known {
		report.Keep("images", "a session whose record cannot be read may need them")
		return nil
	}
	own, err := o.app.UserSettings()
	if err != nil {
		return err
	}
	named[own.Settings.Image], named[own.Images.Base] = true, true
	builder, err := o.app.Builder(ctx)
	if err != nil {
		return err
	}
	outdated, err := builder.Outdated(ctx, time.Now().Add(-olderThan), func(ref string) bool { return named[ref] })
	if err != nil {
		report.Keep("images", err.Error()) // without a daemon there are none
		return nil
	}
	if len(outdated) == 0 {
		return nil
	}
	sizes, err := builder.Own(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, image := range outdated {
		name := strings.Join(image.Refs, " ")
		if !report.DryRun {
			err := builder.Remove(ctx, image)
			if errors.Is(err, bakery.ErrInUse) {
				report.Keep("image "+cmp.Or(name, image.ID), bakery.ErrInUse.Error())
				continue
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
		}
		report.Add(session.GCImages, cmp.Or(name, image.ID), 0, sizes[image.ID])
	}
	return errors.Join(errs...)
}

// printFreed prints what was removed and what stays.
func (o *gcOptions) printFreed(report *session.GCReport) error {
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
