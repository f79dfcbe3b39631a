package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/netguard"
	"aibox/session"

	"github.com/spf13/cobra"
)

// policyOptions is one call of `aibox allow` or `aibox deny`.
type policyOptions struct {
	*cli

	deny   bool
	always bool
	json   bool
}

func newAllowCommand(a *cli) *cobra.Command {
	o := policyOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "allow ID HOST…",
		Short: "Let a running session reach hosts",
		Long: `Let a running session reach hosts, until it ends. HOST is a name, an address or
*.DOMAIN, which matches the names below DOMAIN. Without a port, it allows ports 443
and 80; HOST:PORT allows another one. Hosts that the session's own settings deny stay
denied.

An entry that "aibox deny" has added is removed by the same text. So '*' undoes a denial
of '*' and allows no host by itself.`,
		Example: "  aibox allow 0dq4f example.org\n  aibox allow 0dq4f git.example.org:22 --always",
	}
	return o.command(cmd, "also add the hosts to the allow list of your settings")
}

func newDenyCommand(a *cli) *cobra.Command {
	o := policyOptions{cli: a, deny: true}
	cmd := &cobra.Command{
		Use:   "deny ID HOST…",
		Short: "Keep a running session from reaching hosts",
		Long: `Keep a running session from reaching hosts, until it ends, and close its connections to
them. HOST is a name, an address or *.DOMAIN, which matches every name below DOMAIN.
Without a port, it denies every port; HOST:PORT denies one.`,
		Example: "  aibox deny 0dq4f example.org\n  aibox deny 0dq4f '*.example.org' --always",
	}
	return o.command(cmd, "also add the hosts to the deny list of your settings")
}

func (o *policyOptions) command(cmd *cobra.Command, always string) *cobra.Command {
	cmd.Args = sessionAndHosts
	cmd.ValidArgsFunction = o.complete.running
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) }
	cmd.Flags().BoolVar(&o.always, "always", false, always)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func sessionAndHosts(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes a session id and hosts", cmd.CommandPath()).
		Hint("`%s 0dq4f example.org`", cmd.CommandPath()).
		Hint("`aibox netguard log` shows the hosts that were refused")
}

func (o *policyOptions) run(ctx context.Context, text string, hosts []string) error {
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if found.State.Phase == session.Ended {
		ended := session.WrongState("%s is no longer running", found.ID)
		if found.IsSandbox() {
			return ended
		}
		return ended.Hint("`%s` continues its work: add --allow or --deny with the whole list", session.ResumeCommand(found.ID, found.Spec.Agent))
	}
	changed, err := service.ChangePolicy(ctx, found.ID, o.change(found.ID, hosts))
	if err != nil {
		return err
	}
	if err := o.remember(ctx, found.ID, hosts); err != nil {
		return err
	}
	if o.json {
		return printJSON(o.out, changed)
	}
	fmt.Fprintf(o.out, "%s %s", found.ID, safe(o.effect(hosts)))
	if changed.Closed > 0 {
		fmt.Fprintf(o.out, "; %s closed", amount.Of(changed.Closed, "connection"))
	}
	fmt.Fprintln(o.out)
	return nil
}

// effect describes a change of the lists: what cannot be in an allow list has only undone a denial.
func (o *policyOptions) effect(hosts []string) string {
	if o.deny {
		return "can no longer reach " + strings.Join(hosts, ", ")
	}
	var reached, undone, effects []string
	for _, host := range hosts {
		if _, err := netguard.ParseAllow(host); err == nil {
			reached = append(reached, host)
		} else {
			undone = append(undone, host)
		}
	}
	if len(reached) > 0 {
		effects = append(effects, "can now reach "+strings.Join(reached, ", "))
	}
	if len(undone) > 0 {
		effects = append(effects, "no longer denies "+strings.Join(undone, ", ")+", and reaches the same hosts as before the denial")
	}
	return strings.Join(effects, "; ")
}

// change returns the change of the session's lists.
func (o *policyOptions) change(id session.ID, hosts []string) session.PolicyChange {
	words := []string{"aibox", "allow", string(id)}
	change := session.PolicyChange{Allow: hosts}
	if o.deny {
		words[1] = "deny"
		change = session.PolicyChange{Deny: hosts}
	}
	change.Reason = shellquote.Join(append(words, hosts...))
	return change
}

// remember adds the hosts to the user's settings with --always.
func (o *policyOptions) remember(ctx context.Context, id session.ID, hosts []string) error {
	if !o.always {
		return nil
	}
	editor := o.app.SettingsEditor()
	add := editor.AllowHost
	if o.deny {
		add = editor.DenyHost
	}
	var file string
	for _, host := range hosts {
		var err error
		if file, err = add(ctx, id.Agent(), host); err != nil {
			return fmt.Errorf("the session's list has changed, but your settings have not: %w", err)
		}
	}
	fmt.Fprintf(o.err, "added to %s\n", safe(file))
	if !o.deny {
		o.warnOfUnusedList()
	}
	return nil
}
