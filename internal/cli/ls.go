package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"aibox/internal/termtext"
	"aibox/session"

	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List sessions",
		Example: "  aibox ls\n  aibox ls --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.list(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) list(ctx context.Context, asJSON bool) error {
	service, err := a.service()
	if err != nil {
		return err
	}
	a.repair(ctx, service)
	sessions, damaged := service.List()
	if asJSON {
		if sessions == nil {
			sessions = []session.Session{}
		}
		return errors.Join(printJSON(a.out, sessions), damaged)
	}
	if len(sessions) == 0 {
		fmt.Fprintln(a.err, "no sessions; `aibox run` starts one")
		return damaged
	}
	rows := make([][]string, 0, len(sessions))
	for _, s := range sessions {
		rows = append(rows, []string{
			string(s.ID), status(s), termtext.Escape(filepath.Base(s.Repository)), changed(s), age(s.Created), termtext.Escape(firstLine(s.Prompt, 40)),
		})
	}
	return errors.Join(table(a.out, "ID\tSTATE\tREPOSITORY\tCHANGES\tAGE\tTASK", rows), damaged)
}

// status is the state of a session in one or two words.
func status(s session.Session) string {
	switch {
	case s.State.Phase != session.Ended:
		return string(s.State.Phase)
	case s.State.Review != session.Unreviewed:
		return string(s.State.Review)
	case s.State.Result.Fault != nil:
		return "failed"
	default:
		return "done"
	}
}

func changed(s session.Session) string {
	switch r := s.State.Result; {
	case r == nil:
		return ""
	case !r.Changed:
		return "none"
	default:
		return fmt.Sprintf("%s +%d -%d", files(r.Changes.Files), r.Changes.Added, r.Changes.Deleted)
	}
}

// age is how long ago t was, in the largest unit that fits.
func age(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// files is a number of files in words.
func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
