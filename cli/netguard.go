package cli

import (
	"fmt"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// netguardOptions is one call of `aibox netguard`.
type netguardOptions struct{ *cli }

func newNetguardCommand(a *cli) *cobra.Command {
	o := netguardOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "netguard",
		Short: "The network locks around sandboxes",
		Long: `Manage the alias 10.200.200.1, the firewall chains and the routing rules that keep
sandboxes from reaching anything else. Every session puts them in place when it
starts, so you need "up" only to inspect them beforehand.`,
		Example: "  aibox netguard status\n  aibox netguard log",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	up := &cobra.Command{Use: "up", Short: "Put the locks in place", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		client, err := a.app.Guard(cmd.Context())
		if err != nil {
			return err
		}
		return client.Up(cmd.Context())
	}}
	down := &cobra.Command{Use: "down", Short: "Remove the locks; refused while a session is running", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return o.down(cmd)
	}}
	status := &cobra.Command{Use: "status", Short: "Show the locks, with counters", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return o.status(cmd, asJSON)
	}}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(up, down, status, o.logCommand())
	return cmd
}

func (o *netguardOptions) down(cmd *cobra.Command) error {
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(cmd.Context(), service)
	sessions, err := service.List()
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.Alive {
			return fault.New(fault.Refused, "%s is running and needs these locks", s.ID).Hint("`aibox stop %s` ends it", s.ID)
		}
	}
	client, err := o.app.Guard(cmd.Context())
	if err != nil {
		return err
	}
	return client.Down(cmd.Context())
}

func (o *netguardOptions) status(cmd *cobra.Command, asJSON bool) error {
	client, err := o.app.Guard(cmd.Context())
	if err != nil {
		return err
	}
	status, err := client.Status(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(o.out, status)
	}
	mark := func(on bool) string {
		if on {
			return o.term.good("up")
		}
		return o.term.warn("not up")
	}
	rows := [][]string{
		{"alias 10.200.200.1", mark(status.Alias)},
		{"firewall, IPv4", firewallLine(status.Firewall)},
		{"firewall, IPv6", firewallLine(status.Firewall6)},
		{"routing", fmt.Sprintf("%s, %d bridges locked", mark(status.Routing.Ordered), len(status.Routing.Locked))},
		{"all of it", mark(status.Up)},
	}
	for _, drift := range status.Drift {
		rows = append(rows, []string{"differs", termtext.Escape(drift)})
	}
	if err := table(o.out, "", rows); err != nil {
		return err
	}
	for _, rule := range append(append(status.Firewall.Rules, status.Firewall6.Rules...), status.Routing.Rules...) {
		fmt.Fprintln(o.out, "  "+termtext.Escape(rule))
	}
	return nil
}

// firewallLine sums up lock 1 of one address family. Its refusals are few where
// lock 2 holds, since that one acts first.
func firewallLine(f app.Firewall) string {
	return fmt.Sprintf("%s (%s), %d packets allowed, %d refused", f.Tool, f.Backend, f.Accepted, f.Refused)
}
