package cli

import (
	"context"
	"fmt"
	"time"

	"aibox/session"
	"aibox/session/auditlog"

	"github.com/spf13/cobra"
)

// networkLogOptions are the flags of `aibox netguard log`.
type networkLogOptions struct {
	*cli

	denied, allowed bool
	since           string
	follow          bool
	json            bool
}

func newNetworkLogCommand(a *cli) *cobra.Command {
	o := networkLogOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show refused or allowed network access",
		Long: `Show the network access that was refused in all sessions, or in one: the request, the
reason, the rule that decided, and the command that would allow it: in the session while
it runs, and in a later one once it has ended. The id of a refusal, such as 0dq4f/17, is
also in the answer that the sandbox received and in the audit log; "aibox audit 0dq4f/17"
shows all of it.

With --json, each access is one line of JSON with these fields: "id", "time", "session",
"allowed", "what" ("egress" for a request to the proxy, "name" for a name lookup, "model"
for a request to the model, or a protocol), "target" and "reason" (of a refusal), and if
there is one, "rule" (the entry of a list that decided), "command" (which would allow it) and
"hint" (what to do instead).`,
		Example: `  aibox netguard log 0dq4f
  aibox netguard log -f --denied --allowed
  aibox netguard log --since 1h --json | jq -r .target | sort | uniq -c`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.complete.sessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.BoolVarP(&o.denied, "denied", "d", false, "show refused access; the default without --allowed")
	f.BoolVarP(&o.allowed, "allowed", "a", false, "show allowed access; with --denied, show both")
	f.StringVar(&o.since, "since", "", "show access since `TIME`: 2h or 7d ago, a date, or 2026-11-23T15:04:05Z")
	f.BoolVarP(&o.follow, "follow", "f", false, "continue with new access, including that of sessions that start later")
	f.BoolVar(&o.json, "json", false, "print each access as a line of JSON")
	_ = cmd.RegisterFlagCompletionFunc("since", fixed("1h", "1d", "7d", "30d"))
	return cmd
}

// accessLine is a line of `aibox netguard log --json`. The help of the command documents its
// fields.
type accessLine struct {
	ID      string     `json:"id"`
	Time    time.Time  `json:"time"`
	Session session.ID `json:"session"`
	Allowed bool       `json:"allowed"`
	What    string     `json:"what"`
	Target  string     `json:"target"`
	Reason  string     `json:"reason"`
	Rule    string     `json:"rule,omitempty"`
	Command string     `json:"command,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

func (o *networkLogOptions) run(ctx context.Context, args []string) error {
	since, err := parseMoment("--since", o.since, time.Now())
	if err != nil {
		return err
	}
	if o.json {
		o.printJSONLines()
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, service)
	logs, err := service.AuditLogs(args...)
	if err != nil {
		return err
	}
	want := among(logs)
	if len(args) > 0 {
		o.about = logs[0].Session
	} else {
		logs, want = withoutRemoved(logs)
	}
	lines := &auditLines{out: o.out, term: o.term, whole: true}
	printed := o.printing(lines, newCommandsOfEnded(service), since)
	if o.follow {
		return o.followEvents(ctx, service, logs, want, printed)
	}
	err = service.AuditEvents(logs, printed)
	if lines.count == 0 && err == nil && !o.json {
		fmt.Fprintf(o.err, "no %s; `aibox netguard log -a -d` shows all access of all sessions\n", o.selection())
	}
	return damagedLogs(err)
}

// withoutRemoved returns the logs of sessions that were not removed. want returns true for these
// sessions and for those that start later.
func withoutRemoved(logs []auditlog.Log) (kept []auditlog.Log, want func(session.ID) bool) {
	var removed []auditlog.Log
	for _, log := range logs {
		if log.Removed {
			removed = append(removed, log)
		} else {
			kept = append(kept, log)
		}
	}
	gone := among(removed)
	return kept, func(id session.ID) bool { return !gone(id) }
}

// selection names the access that the flags select.
func (o *networkLogOptions) selection() string {
	switch {
	case o.allowed && o.denied:
		return "access"
	case o.allowed:
		return "allowed access"
	default:
		return "refused access"
	}
}

// printing returns a function that prints the selected access as lines.
func (o *networkLogOptions) printing(lines *auditLines, commands *commandsOfEnded, since time.Time) func(auditlog.Event) error {
	return func(e auditlog.Event) error {
		access, ok := auditlog.AccessOf(e.Session, e.Event)
		if !ok || e.Time.Before(since) || !o.selects(access, e) {
			return nil
		}
		commands.adapt(&access, &e)
		lines.count++
		if !o.json {
			return lines.print(e)
		}
		return encodeJSON(o.out, accessLine{
			ID: e.ID().String(), Time: access.Time.UTC(), Session: access.Session, Allowed: access.Allowed,
			What: access.What, Target: access.Target, Reason: access.Why, Rule: access.Rule, Command: access.Command, Hint: access.Hint,
		}, "")
	}
}

// selects reports whether the flags select an access. What a model server refused is
// neither allowed nor refused by the network.
func (o *networkLogOptions) selects(access auditlog.Access, e auditlog.Event) bool {
	if access.Allowed {
		return o.allowed
	}
	return (o.denied || !o.allowed) && e.Type.Refusal()
}
