package cli

import (
	"context"
	"fmt"

	"aibox/app"
	"aibox/internal/amount"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// netguardOptions is one call of `aibox netguard`.
type netguardOptions struct {
	*cli
	site guardSite
}

func newNetguardCommand(a *cli) *cobra.Command {
	o := netguardOptions{cli: a, site: siteAuto}
	cmd := &cobra.Command{
		Use:   "netguard",
		Short: "Show the network locks around sandboxes, and check policies",
		Long: `Manage the alias 10.200.200.1, the firewall chains and the routing rules that keep
sandboxes from reaching anything else. Every session puts them in place when it
starts, so you need "up" only to inspect them beforehand.`,
		Example: "  aibox netguard status\n  aibox netguard up --dry-run\n  aibox netguard log",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	status := &cobra.Command{Use: "status", Short: "Show the locks, with counters", Example: "  aibox netguard status", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return o.status(cmd.Context(), asJSON)
	}}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	up, down := o.upCommand(), o.downCommand()
	for _, command := range []*cobra.Command{up, down, status} {
		command.Flags().Var(&o.site, "site", "work in the network namespace of this Docker: rootless (your own), host (the system's; needs root) or auto (the one that sessions use)")
		_ = command.RegisterFlagCompletionFunc("site", fixed(string(siteAuto), string(siteRootless), string(siteHost)))
	}
	cmd.AddCommand(up, down, status, newNetworkLogCommand(a), o.explainCommand(), o.testCommand(), o.learnCommand())
	return cmd
}

func (o *netguardOptions) status(ctx context.Context, asJSON bool) error {
	client, err := o.guard(ctx, false)
	if err != nil {
		return err
	}
	status, err := client.Status(ctx)
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
		{"routing", fmt.Sprintf("%s, %s locked", mark(status.Routing.Ordered), amount.Of(len(status.Routing.Locked), "bridge"))},
		{"ICMP errors", icmpLine(status.ICMPRate)},
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

// icmpLine describes the kernel's limit on ICMP errors, which slows down refusals only.
func icmpLine(unlimited bool) string {
	if unlimited {
		return "not limited"
	}
	return "limited, so some refusals are slow"
}

// firewallLine sums up lock 1 of one address family. Its refusals are few where
// lock 2 holds, since that one acts first.
func firewallLine(f app.Firewall) string {
	return fmt.Sprintf("%s (%s), %d packets allowed, %d refused", f.Tool, f.Backend, f.Accepted, f.Refused)
}
