package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"aibox/internal/amount"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"

	"github.com/spf13/cobra"
)

// listOptions is one call of `aibox ls`.
type listOptions struct{ *cli }

func newListCommand(a *cli) *cobra.Command {
	o := listOptions{cli: a}
	var asJSON, all bool
	var batch string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List sessions, newest first",
		Example: "  aibox ls\n  aibox ls --json\n  aibox ls --batch b-0dq4f",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), asJSON, all, batch) },
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include sessions that verify another session's work")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&batch, "batch", "", "list only the sessions of the batch `ID`")
	_ = cmd.RegisterFlagCompletionFunc("batch", a.complete.batches)
	return cmd
}

func (o *listOptions) run(ctx context.Context, asJSON, all bool, batch string) error {
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	var only session.BatchID
	if batch != "" {
		if only, _, err = service.Batch(batch); err != nil {
			return err
		}
	}
	o.repairWorktrees(service)
	if asJSON {
		o.repair(ctx, service)
		service.ComputeUnknown(ctx)
		sessions, damaged := service.List()
		if !all {
			sessions = slices.DeleteFunc(sessions, func(s session.Session) bool { return s.ID.Hidden() })
		}
		if only != "" {
			sessions = slices.DeleteFunc(sessions, func(s session.Session) bool { return s.Batch != only })
		}
		if sessions == nil {
			sessions = []session.Session{}
		}
		summary.SortByAge(sessions)
		return errors.Join(printJSON(o.out, measureListed(ctx, service, sessions)), damaged)
	}
	briefs, damaged := service.Summaries()
	if damaged != nil || service.ExpectsContainer() || slices.ContainsFunc(briefs, func(b summary.Summary) bool { return b.Phase != session.Ended }) {
		o.repair(ctx, service)
		briefs, damaged = service.Summaries()
	}
	if slices.ContainsFunc(briefs, func(b summary.Summary) bool { return b.Unknown }) && service.ComputeUnknown(ctx) {
		briefs, damaged = service.Summaries()
	}
	if all {
		verifying, unread := service.VerificationSummaries()
		briefs, damaged = append(briefs, verifying...), errors.Join(damaged, unread)
	}
	if only != "" {
		briefs = slices.DeleteFunc(briefs, func(b summary.Summary) bool { return b.Batch != only })
	}
	if len(briefs) == 0 {
		fmt.Fprintln(o.err, "no sessions; `aibox run` starts one")
		return damaged
	}
	sorting.Func(briefs, summary.NewestFirst)
	rows := make([][]string, 0, len(briefs))
	now := time.Now()
	for i := range briefs {
		b := &briefs[i]
		rows = append(rows, []string{
			string(b.ID), state(b), termtext.Escape(b.Place()), changed(b), amount.Age(now.Sub(b.Created)), termtext.Escape(firstLine(b.Task, 40)),
		})
	}
	header := "ID\tSTATE\tREPOSITORY\tCHANGES\tAGE\tTASK"
	if slices.ContainsFunc(briefs, func(b summary.Summary) bool { return b.Batch != "" }) && only == "" {
		header = "ID\tBATCH\tSTATE\tREPOSITORY\tCHANGES\tAGE\tTASK"
		for i, b := range briefs {
			rows[i] = slices.Insert(rows[i], 1, string(b.Batch))
		}
	}
	err = o.overview(header, rows)
	o.hintAtStale(service)
	return errors.Join(err, damaged)
}

// listedSession is a session as `aibox ls --json` prints it.
type listedSession struct {
	session.Session

	Usage session.Usage `json:"usage,omitzero"` // of a running session's sandbox
}

// measureListed adds what the sandboxes of running sessions use.
func measureListed(ctx context.Context, service *manager.Manager, sessions []session.Session) []listedSession {
	used := map[session.ID]session.Usage{}
	measured, _ := service.Usages(ctx) // the list names damaged records itself
	for i := range measured {
		used[measured[i].ID] = measured[i].Usage
	}
	listed := make([]listedSession, len(sessions))
	for i, s := range sessions {
		listed[i] = listedSession{s, used[s.ID]}
	}
	return listed
}

// manyStale is how many old sessions are worth a hint.
const manyStale = 20

// hintAtStale suggests a clean-up where it would free much.
func (o *listOptions) hintAtStale(service *manager.Manager) {
	if !o.errTerm.interactive {
		return
	}
	own, err := o.app.UserSettings()
	if err != nil {
		return
	}
	if stale := service.Stale(own.Settings.Keep); stale >= manyStale {
		fmt.Fprintln(o.err, o.errTerm.faint(fmt.Sprintf("%d sessions are old and reviewed: aibox gc --dry-run shows how much space they take", stale)))
	}
}

// state is the session's status, with its place in the queue.
func state(b *summary.Summary) string {
	if b.Position > 0 {
		return fmt.Sprintf("%s %d", b.Status(), b.Position)
	}
	return string(b.Status())
}

func changed(b *summary.Summary) string {
	switch {
	case b.Queue != "":
		return b.Queue
	case b.Phase != session.Ended:
		return ""
	case b.Unknown:
		return "unknown"
	case !b.Changed:
		return "none"
	default:
		return amount.Of(b.Files, "file") + " +" + strconv.Itoa(b.Added) + " -" + strconv.Itoa(b.Deleted)
	}
}
