package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/summary"

	"github.com/spf13/cobra"
)

// topOptions is one call of `aibox top`.
type topOptions struct {
	*cli
	ids      []string
	once     bool
	asJSON   bool
	interval time.Duration
}

// topHeader is the header of the table.
const topHeader = "ID\tSTATE\tCPU\tMEMORY\tLIMIT\tPROCESSES\tCPU TIME\tREPOSITORY"

func newTopCommand(a *cli) *cobra.Command {
	o := topOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "top [ID…]",
		Short: "Show the memory, CPU and processes of running sessions",
		Long: `Show the memory, CPU and processes of running sessions.

On a terminal the table is refreshed until ctrl-c. CPU is in percent of one processor, so a
session that uses two has 200%. Sessions are measured only while you look.`,
		Example:           "  aibox top\n  aibox top --once\n  aibox top --json",
		ValidArgsFunction: a.complete.running,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids = args
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.once, "once", false, "print one table and exit, even on a terminal")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one table as JSON")
	lengthVar(cmd.Flags(), &o.interval, "interval", 2*time.Second, "measure every `DURATION`, at least 1s")
	return cmd
}

func (o *topOptions) run(ctx context.Context) error {
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	var ids []session.ID
	for _, text := range o.ids {
		found, err := service.Find(text)
		if err != nil {
			return err
		}
		ids = append(ids, found.ID)
	}
	if o.asJSON {
		used, damaged := service.Usages(ctx, ids...)
		if used == nil {
			used = []summary.Summary{}
		}
		return errors.Join(printJSON(o.out, used), damaged)
	}
	if o.once || !o.term.interactive {
		used, damaged := service.Usages(ctx, ids...)
		if len(used) == 0 {
			fmt.Fprintln(o.err, noneRunning(ids))
			return damaged
		}
		return errors.Join(o.overview(topHeader, topRows(used)), damaged)
	}
	return o.refresh(ctx, service, ids)
}

// noneRunning returns what is shown in place of an empty table of all sessions, or of those that the user has
// named.
func noneRunning(ids []session.ID) string {
	switch len(ids) {
	case 0:
		return "no session is running; `aibox run` starts one"
	case 1:
		return string(ids[0]) + " is not running"
	default:
		return "none of these sessions is running"
	}
}

// refresh shows the table again and again until ctx ends. It never scrolls: rows that do
// not fit are counted.
func (o *topOptions) refresh(ctx context.Context, service *manager.Manager, ids []session.ID) error {
	ticks := time.NewTicker(max(o.interval, time.Second))
	defer ticks.Stop()
	const hideCursor, showCursor = "\x1b[?25l", "\x1b[?25h"
	fmt.Fprint(o.out, hideCursor)
	defer fmt.Fprintln(o.out, showCursor) // the terminal may show ^C on this line
	for {
		o.term = o.currentTerm()               // the user can resize it
		used, _ := service.Usages(ctx, ids...) // damaged records are reported by `aibox ls`
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprint(o.out, frame(o.table(used, ids)))
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// frame returns the control sequences that replace the screen by the lines, without
// flicker: each line is overwritten, and the rest of it and of the screen is erased.
func frame(text string) string {
	const home, eraseLine, eraseBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	return home + strings.ReplaceAll(text, "\n", eraseLine+"\r\n") + eraseBelow
}

// table returns the table of sessions, all or those with ids, as it fits on the terminal.
func (o *topOptions) table(used []summary.Summary, ids []session.ID) string {
	if len(used) == 0 {
		return noneRunning(ids) + "\n"
	}
	rows, more := topRows(used), 0
	if room := o.term.height - 3; room > 0 && len(rows) > room {
		rows, more = rows[:room], len(rows)-room
	}
	var out strings.Builder
	scratch := *o.console
	scratch.out = &out
	_ = scratch.overview(topHeader, rows) // a builder accepts every write
	if more > 0 {
		fmt.Fprintf(&out, "and %s\n", amount.Of(more, "more session"))
	}
	return out.String()
}

// topRows are the rows of the table.
func topRows(used []summary.Summary) [][]string {
	rows := make([][]string, 0, len(used))
	for i := range used {
		u := &used[i]
		row := []string{string(u.ID), string(u.Status()), "", "", "", "", "", termtext.Escape(u.Place())}
		if !u.Usage.Measured.IsZero() {
			row[2], row[3], row[4] = strconv.Itoa(int(u.Usage.CPU+0.5))+"%", amount.Bytes(u.Usage.Memory), limitText(u.Usage.MemoryLimit)
			row[5], row[6] = strconv.Itoa(u.Usage.Processes), amount.Took(time.Duration(u.Usage.CPUSeconds*float64(time.Second)))
		}
		rows = append(rows, row)
	}
	return rows
}

// limitText returns a memory limit.
func limitText(bytes int64) string {
	if bytes == 0 {
		return "none"
	}
	return amount.Bytes(bytes)
}
