package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/spelling"
	"aibox/session/auditlog"

	"github.com/spf13/cobra"
)

// auditOptions are the flags of `aibox audit`.
type auditOptions struct {
	*cli

	kinds        []string
	since, until string
	denied       bool
	follow       bool
	verify       bool
	summary      bool
	json         bool
	output       string
}

func newAuditCommand(a *cli) *cobra.Command {
	o := auditOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "audit [ID…]",
		Short: "Show, verify and export what sessions did",
		Long: `Show the audit logs of all sessions, or of those named, in time order: every event
from the start of a session to the decision on its changes, with network requests, DNS
queries, model requests and probes. Removed sessions are included; "aibox config set
audit-keep" changes for how long. An event's id, such as 0dq4f/17, shows that event in
full.

--kind takes these kinds of events, or types as in the output, such as egress.refused:
` + kindNames() + `.

With --json, each event is one line of JSON with these fields: "id", "session", "seq" (its
number in the log), "time", "type", "kind", "denied" (true if access was refused), "data"
(depends on the type), and "prev" and "hash" (hex SHA-256 of the previous line and of
this one). --verify --json prints "session", "path", "removed", "events" and "damage" (a
list of "line" and "problem") for each log. --summary --json prints one object.

--verify detects lines that were edited, removed, moved or cut off at the end. It cannot
detect that all files of a log were replaced.`,
		Example: `  aibox audit 0dq4f
  aibox audit 0dq4f/17
  aibox audit --denied --since 2h
  aibox audit --kind egress,dns -f
  aibox audit --verify
  aibox audit --summary --since 7d
  aibox audit --since 2026-11-01 -o november.jsonl`,
		ValidArgsFunction: a.complete.auditLogs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd, "kind", o.kinds); err != nil {
				return err
			}
			return o.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.kinds, "kind", "k", nil, "show only events of these `KINDS` or types (comma-separated)")
	f.BoolVarP(&o.denied, "denied", "d", false, "show only refused access")
	f.StringVar(&o.since, "since", "", "show events since `TIME`: 2h or 7d ago, a date, or 2026-11-23T15:04:05Z")
	f.StringVar(&o.until, "until", "", "show events before `TIME`")
	f.BoolVarP(&o.follow, "follow", "f", false, "continue with new events")
	f.BoolVar(&o.verify, "verify", false, "verify the logs: exit with code 4 if one was changed after it was written")
	f.BoolVar(&o.summary, "summary", false, "print totals for each session and for all")
	f.BoolVar(&o.json, "json", false, "print each event as a line of JSON")
	f.StringVarP(&o.output, "output", "o", "", "verify the logs and write the events to `FILE`, as JSON lines or as CSV if it ends in .csv")
	_ = cmd.RegisterFlagCompletionFunc("kind", completeKinds)
	for _, name := range []string{"since", "until"} {
		_ = cmd.RegisterFlagCompletionFunc(name, fixed("1h", "1d", "7d", "30d"))
	}
	return cmd
}

// namesEvent reports whether the arguments are the id of an event.
func namesEvent(args []string) bool { return len(args) == 1 && strings.Contains(args[0], "/") }

// validate refuses flags that cannot be combined.
func (o *auditOptions) validate(args []string) error {
	var modes []string
	for _, mode := range []struct {
		on   bool
		name string
	}{{o.follow, "--follow"}, {o.verify, "--verify"}, {o.summary, "--summary"}, {o.output != "", "--output"}} {
		if mode.on {
			modes = append(modes, mode.name)
		}
	}
	switch {
	case len(modes) == 1 && namesEvent(args):
		return fault.New(fault.Usage, "%s is about the events of a log, and %s shows only that event", modes[0], args[0]).
			Hint("leave out %s, or name the session without an event", modes[0])
	case namesEvent(args) && o.filtered():
		return fault.New(fault.Usage, "%s is one event, so it takes no filters", args[0]).
			Hint("leave them out, or name the session without an event")
	case len(modes) > 1:
		return fault.New(fault.Usage, "%s cannot be used together", strings.Join(modes, " and ")).Hint("keep one of them")
	case o.output != "" && o.json:
		return fault.New(fault.Usage, "--output and --json cannot be used together").Hint("--output writes JSON lines unless the file ends in .csv")
	case o.verify && o.filtered():
		return fault.New(fault.Usage, "--verify is about whole logs, so it takes no filters").Hint("name sessions to verify only their logs")
	case o.follow && o.until != "":
		return fault.New(fault.Usage, "--follow and --until cannot be used together").Hint("keep one of them")
	default:
		return nil
	}
}

// filtered reports whether a flag selects events.
func (o *auditOptions) filtered() bool {
	return len(o.kinds) > 0 || o.denied || o.since != "" || o.until != ""
}

func (o *auditOptions) run(ctx context.Context, args []string) error {
	if err := o.validate(args); err != nil {
		return err
	}
	if o.json && !o.summary {
		o.printJSONLines()
	}
	filter, err := o.filter(time.Now())
	if err != nil {
		return err
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	if namesEvent(args) {
		return o.showEvent(service, args[0])
	}
	logs, err := service.AuditLogs(args...)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		o.about = logs[0].Session
	}
	switch {
	case o.verify:
		return o.verifyLogs(service, logs)
	case o.summary:
		return o.summarize(service, logs, filter)
	case o.output != "":
		return o.export(service, logs, filter)
	default:
		return o.list(ctx, service, logs, filter, len(args) > 0)
	}
}

// auditFilter selects events.
type auditFilter struct {
	kinds        audit.Selection
	denied       bool
	since, until time.Time // zero for no limit
}

// match reports whether the event is selected.
func (f auditFilter) match(e auditlog.Event) bool {
	return f.kinds.Match(e.Event) && (!f.denied || e.Denied()) && !e.Time.Before(f.since) && (f.until.IsZero() || e.Time.Before(f.until))
}

func (o *auditOptions) filter(now time.Time) (f auditFilter, err error) {
	selection, unknown := audit.ParseSelection(o.kinds)
	if unknown != "" {
		return f, unknownKind(unknown)
	}
	f = auditFilter{kinds: selection, denied: o.denied}
	if f.since, err = parseMoment("--since", o.since, now); err != nil {
		return f, err
	}
	if f.until, err = parseMoment("--until", o.until, now); err != nil {
		return f, err
	}
	if !f.since.IsZero() && !f.until.IsZero() && !f.since.Before(f.until) {
		return f, fault.New(fault.Usage, "--since is not before --until").Hint("2h and 7d mean that long ago")
	}
	return f, nil
}

// unknownKind is the error for a word that is neither a kind nor a type of events.
func unknownKind(word string) error {
	f := fault.New(fault.Usage, "%q is neither a kind nor a type of event", word)
	var words []string
	for _, kind := range audit.Kinds() {
		words = append(words, string(kind))
	}
	for _, kind := range audit.Types() {
		words = append(words, string(kind))
	}
	if near := spelling.Nearest(word, words); near != "" {
		f = f.Hint("did you mean %q?", near)
	}
	return f.Hint("kinds: %s", kindNames())
}

// kindNames returns the kinds as text.
func kindNames() string {
	var names []string
	for _, kind := range audit.Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// momentForms are the forms of a moment, besides RFC 3339. They are in local time.
var momentForms = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"}

// parseMoment parses a moment: a time before now, or a date. An empty text is the zero time.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := spec.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if moment, err := time.Parse(time.RFC3339, text); err == nil {
		return moment, nil
	}
	for _, form := range momentForms {
		if moment, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return moment, nil
		}
	}
	return time.Time{}, fault.New(fault.Usage, "%s must be a time, not %q", flag, text).
		Hint("such as 2h, 7d, %s or %s", now.Format(time.DateOnly), now.UTC().Format(time.RFC3339))
}

// completeKinds completes a list of kinds and types.
func completeKinds(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var words []string
	for _, kind := range audit.Kinds() {
		words = append(words, before+string(kind))
	}
	for _, kind := range audit.Types() {
		words = append(words, fmt.Sprint(before, kind))
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
