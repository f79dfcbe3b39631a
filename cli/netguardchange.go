package cli

import (
	"context"
	"fmt"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// changeOptions are the flags of `aibox netguard up` and `down`.
type changeOptions struct{ dryRun, json bool }

// flags declares the flags on cmd.
func (c *changeOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print the changes as a shell script, and make none")
	cmd.Flags().BoolVar(&c.json, "json", false, "with --dry-run, print the changes as JSON")
}

func (c changeOptions) validate() error {
	if c.json && !c.dryRun {
		return fault.New(fault.Usage, "--json needs --dry-run").Hint("`aibox netguard status --json` prints the state of the locks")
	}
	return nil
}

// plan is the output of --dry-run --json. The help of the commands documents its fields.
type plan struct {
	Enter   []string     `json:"enter"`
	Changes []app.Change `json:"changes"`
}

func (o *netguardOptions) upCommand() *cobra.Command {
	var options changeOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Put the locks in place, or repair them",
		Long: `Put the locks in place, or repair those that differ from what they should be. Every
session does so when it starts.

--dry-run prints the changes in order, as a shell script to read. With --json, it prints
an object with these fields: "enter" (the command that runs another command in the network
namespace of Docker's bridges; empty if that is this one), and "changes", a list of
"command" (its words), "input" (its standard input, if any) and "optional" (true if a
failure is ignored).`,
		Example: "  aibox netguard up --dry-run\n  sudo aibox netguard up --site host",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.up(cmd.Context(), options) },
	}
	options.flags(cmd)
	return cmd
}

func (o *netguardOptions) downCommand() *cobra.Command {
	var options changeOptions
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the locks; refused while a session is running",
		Long: `Remove the locks, and restore what was there before: rules, routing, addresses and the
kernel's limit on ICMP errors. Other programs' changes stay. An empty table of the legacy
iptables may remain, because the kernel cannot remove it.

--dry-run prints the changes like "aibox netguard up --dry-run".`,
		Example: "  aibox netguard down\n  aibox netguard down --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.down(cmd.Context(), options) },
	}
	options.flags(cmd)
	return cmd
}

func (o *netguardOptions) up(ctx context.Context, options changeOptions) error {
	if err := options.validate(); err != nil {
		return err
	}
	client, err := o.guard(ctx, true)
	if err != nil {
		return err
	}
	if !options.dryRun {
		return client.Up(ctx)
	}
	changes, err := client.PlanUp(ctx)
	if err != nil {
		return err
	}
	return o.printPlan("up", client.Enter(), changes, options.json)
}

func (o *netguardOptions) down(ctx context.Context, options changeOptions) error {
	if err := options.validate(); err != nil {
		return err
	}
	service, err := o.app.Sessions()
	if err != nil {
		return err
	}
	if !options.dryRun {
		o.repair(ctx, service)
	}
	sessions, err := service.List()
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.Alive {
			return fault.New(fault.Refused, "%s is running and needs these locks", s.ID).Hint("`aibox stop %s` ends it", s.ID)
		}
	}
	client, err := o.guard(ctx, false)
	if err != nil {
		return err
	}
	if !options.dryRun {
		return client.Down(ctx)
	}
	changes, err := client.PlanDown(ctx)
	if err != nil {
		return err
	}
	return o.printPlan("down", client.Enter(), changes, options.json)
}

// printPlan prints the changes that a command would make.
func (o *netguardOptions) printPlan(command string, enter []string, changes []app.Change, asJSON bool) error {
	if asJSON {
		return printJSON(o.out, plan{Enter: append([]string{}, enter...), Changes: append([]app.Change{}, changes...)})
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(o.out, "# aibox netguard %s has nothing to change\n", command)
		return err
	}
	fmt.Fprintf(o.out, "# The changes of: aibox netguard %s\n", command)
	if len(enter) > 0 {
		fmt.Fprintf(o.out, "# To make them by hand: %s sh -e FILE\n", shellquote.Join(enter))
	}
	_, err := fmt.Fprint(o.out, termtext.Text(app.Script(changes)))
	return err
}
