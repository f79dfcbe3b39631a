package cli

import (
	"errors"
	"fmt"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/ui/traffic"

	"github.com/spf13/cobra"
)

// logCommand is `aibox netguard log`.
func (o *netguardOptions) logCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show what sandboxes were refused",
		Long: `Show what the network refused to the sandboxes of all sessions, or of one.

With --json, each refusal is one line of JSON with these fields: "time", "session",
"what" ("name" for a name lookup, "model" for a request to the model, or a protocol),
"target" and "reason".`,
		Example:           "  aibox netguard log 0dq4f\n  aibox netguard log --json | jq -r .target | sort | uniq -c",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.log(cmd, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each refusal as a line of JSON")
	return cmd
}

// refusalLine is a line of `aibox netguard log --json`. The help of the command documents
// its fields.
type refusalLine struct {
	Time    time.Time  `json:"time"`
	Session session.ID `json:"session"`
	What    string     `json:"what"`
	Target  string     `json:"target"`
	Reason  string     `json:"reason"`
}

func (o *netguardOptions) log(cmd *cobra.Command, args []string, asJSON bool) error {
	if asJSON {
		o.printJSONLines()
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(cmd.Context(), service)
	sessions, damaged := service.List()
	if len(args) > 0 {
		one, err := service.Find(args[0])
		if err != nil {
			return err
		}
		o.about, sessions = one.ID, []session.Session{one}
	}
	for _, s := range sessions {
		err := service.Events(s.ID, func(e audit.Event) error {
			asked, ok := session.AccessOf(s.ID, e)
			if !e.Type.Refusal() || !ok {
				return nil
			}
			return o.printRefusal(asked, asJSON)
		})
		damaged = errors.Join(damaged, err)
	}
	return damaged
}

func (o *netguardOptions) printRefusal(refused session.Access, asJSON bool) error {
	if asJSON {
		return encodeJSON(o.out, refusalLine{refused.Time.UTC(), refused.Session, refused.What, refused.Target, refused.Why}, "")
	}
	_, err := fmt.Fprintf(o.out, "%s  %s  %s\n", refused.Time.Local().Format(time.DateTime), refused.Session, traffic.Say(refused))
	return err
}
