package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/app/login"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// loginOptions are the flags of `aibox login`.
type loginOptions struct {
	*cli

	command string
	yes     bool
}

func newLoginCommand(a *cli) *cobra.Command {
	o := loginOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "login AGENT",
		Short: "Store the key of your account at an agent's vendor",
		Long: `Store the key of your account at an agent's vendor, for all of the agent's runs in the
vendor's cloud, and accept the vendor's hosts. The key comes from a question or, without a
terminal, from standard input. It is stored in a file that only you can read. With --command
aibox stores a command instead, and runs it at the start of each session; no shell runs it.

The sandboxes of these runs get the key, and the agent in them can read it.`,
		Example: `  aibox login cursor
  aibox login claude --yes < key.txt
  aibox login cursor --command "pass show cursor"`,
		Args:              oneAgent,
		ValidArgsFunction: a.complete.logins,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("command") && strings.TrimSpace(o.command) == "" {
				return fault.New(fault.Usage, "--command names no program").Hint(`aibox login AGENT --command "pass show KEY"`)
			}
			return o.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringVar(&o.command, "command", "", "store this `COMMAND`, which prints the key, in place of the key")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "accept the vendor's hosts without a question")
	_ = cmd.RegisterFlagCompletionFunc("command", cobra.NoFileCompletions)
	return cmd
}

// oneAgent refuses more than the name of an agent. It does not repeat the arguments, since
// one may be a key.
func oneAgent(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fault.New(fault.Usage, "%s needs the name of an agent", cmd.CommandPath()).Hint("`%s cursor`", cmd.CommandPath())
	case len(args) > 1:
		return fault.New(fault.Usage, "aibox %s takes only the name of an agent", cmd.Name()).
			Hint("a key is never an argument, because other users can read command lines: aibox login AGENT < key.txt")
	}
	return nil
}

func (o *loginOptions) run(ctx context.Context, name string) error {
	info, logins, err := o.findLogin(name)
	if err != nil {
		return err
	}
	asks := o.errTerm.interactive && terminalOf(o.in).interactive
	if asks {
		o.explainLogin(info)
	}
	if err := o.acceptHosts(ctx, logins, info, asks); err != nil {
		return err
	}
	key := login.Key{Command: strings.TrimSpace(o.command)} // empty for none
	if key.Command == "" {
		if key.Text, err = o.readSecret(ctx, "Key (not shown): "); err != nil {
			return err
		}
	}
	stored, err := logins.Login(ctx, info, key)
	if err != nil {
		return err
	}
	where := "your settings have the command that prints the key"
	if stored.File != "" {
		where = "the key is in " + termtext.Escape(paths.Short(stored.File)) + ", which only you can read"
	}
	if stored.Replaced {
		where += "; it replaces the previous one"
	}
	fmt.Fprintf(o.err, "%s logged in to %s: %s\n", o.errTerm.good("✓"), termtext.Escape(info.Title), where)
	if stored.Left != nil {
		fmt.Fprintf(o.err, "%s the previous key is still there: %s\n", o.errTerm.warn("!"), safe(stored.Left.Error()))
		o.reportHints(stored.Left)
	}
	return nil
}

// findLogin finds an agent with an account at its vendor.
func (a *cli) findLogin(name string) (agents.Info, login.Logins, error) {
	agent, err := a.app.Agents().Find(name)
	if err != nil {
		return agents.Info{}, login.Logins{}, err
	}
	info := agent.Info()
	if err := info.CheckLogin(); err != nil {
		return agents.Info{}, login.Logins{}, err
	}
	logins, err := a.app.Logins()
	return info, logins, err
}

// explainLogin says where the key comes from and where it goes.
func (o *loginOptions) explainLogin(info agents.Info) {
	runs := "every run of " + info.Title
	if !info.OwnCloud {
		runs += " with --inference " + agents.Cloud
	}
	if o.command == "" {
		fmt.Fprintf(o.err, "Create a key of your account at %s.\n", info.Account.Page)
	}
	fmt.Fprintf(o.err, "The sandbox of %s gets the key as %s, and the agent can read it there.\n", runs, info.Account.Variable)
	if info.Account.Limit != "" {
		fmt.Fprintln(o.err, info.Account.Limit)
	}
}

// acceptHosts names the hosts of the vendor that the user has not accepted, and asks for
// them unless the user accepts them by a flag. They are stored with the key.
func (o *loginOptions) acceptHosts(ctx context.Context, logins login.Logins, info agents.Info, asks bool) error {
	unaccepted, found, err := logins.Unaccepted(info)
	if err != nil || !found {
		return err
	}
	switch {
	case o.yes:
		o.nameHosts(unaccepted)
		return nil
	case !asks:
		return fault.New(fault.Refused, "%w", unaccepted).Hint("aibox login %s --yes   # accepts it, for every run of %s", info.Name, info.Name)
	}
	yes, err := o.askHosts(ctx, unaccepted)
	if err == nil && !yes {
		return fault.New(fault.Refused, "you did not accept the hosts of the vendor, so nothing was stored")
	}
	return err
}

// newLogoutCommand makes `aibox logout`.
func newLogoutCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "logout AGENT",
		Short: "Remove the key of your account at an agent's vendor",
		Long: `Remove the key of your account at an agent's vendor, or the command that prints it, from
this machine, and stop accepting the vendor's hosts. The key stays valid at the vendor, and
sessions that are running keep it.`,
		Example:           "  aibox logout cursor",
		Args:              oneAgent,
		ValidArgsFunction: a.complete.logins,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.logout(cmd.Context(), args[0]) },
	}
}

func (a *cli) logout(ctx context.Context, name string) error {
	info, logins, err := a.findLogin(name)
	if err != nil {
		return err
	}
	removed, err := logins.Logout(ctx, info)
	if err != nil {
		return err
	}
	title := termtext.Escape(info.Title)
	if !removed.Found {
		fmt.Fprintf(a.err, "you are not logged in to %s; nothing was removed\n", title)
		return nil
	}
	fmt.Fprintf(a.err, "%s logged out of %s\n", a.errTerm.good("✓"), title)
	if removed.Kept != "" {
		fmt.Fprintf(a.err, "%s the key is still in %s, which is your own file\n", a.errTerm.faint("→"), termtext.Escape(removed.Kept))
	}
	if len(removed.Hosts) > 0 {
		fmt.Fprintf(a.err, "%s its vendor's hosts are no longer accepted: %s\n", a.errTerm.faint("→"), termtext.Escape(strings.Join(removed.Hosts, ", ")))
	}
	return nil
}
