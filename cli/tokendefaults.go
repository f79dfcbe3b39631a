package cli

import (
	"context"
	"fmt"
	"slices"

	"aibox/api/store"
	"aibox/app/sandbox"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"

	"github.com/spf13/cobra"
)

// tokenDefaultsOptions are the flags of `aibox token defaults`.
type tokenDefaultsOptions struct {
	*cli

	settings config.RunOverrides
	unset    []string
	json     bool
}

func newTokenDefaultsCommand(a *cli) *cobra.Command {
	o := tokenDefaultsOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "defaults TENANT",
		Short: "Show or change the defaults of a tenant",
		Long: `Show the settings that a tenant's sandboxes and sessions have if their creation does not
give them, or change those that are given. A template's own settings come before them.
Without a network policy, a sandbox reaches nothing.`,
		Example: `  aibox token defaults ci
  aibox token defaults ci --network allowlist --allow pip,npm --memory 2GiB
  aibox token defaults ci --unset memory`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.complete.tenants,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	for _, field := range config.RunFields() {
		if slices.Contains(sandbox.TenantSettings(), field.Key) {
			flags.VarPF(&settingFlag{field, &o.settings}, field.Key, "", settingHelp(field))
			_ = cmd.RegisterFlagCompletionFunc(field.Key, a.complete.setting(field))
		}
	}
	flags.StringSliceVar(&o.unset, "unset", nil, "remove the defaults of these `SETTINGS` (comma-separated)")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("unset", listOf(sandbox.TenantSettings()...))
	return cmd
}

func (o *tokenDefaultsOptions) run(ctx context.Context, name string) error {
	tenant, err := session.ParseTenant(name)
	if err != nil {
		return err
	}
	for _, key := range o.unset {
		if !slices.Contains(sandbox.TenantSettings(), key) {
			return fault.New(fault.Usage, "%q is not a setting of a sandbox", key)
		}
		if o.settings.Has(key) {
			return fault.New(fault.Usage, "--unset %s and --%s contradict each other", key, key)
		}
	}
	return withStore(ctx, func(s *store.Store) error {
		now, err := s.Defaults(ctx, tenant)
		if err == nil && (!o.settings.IsZero() || len(o.unset) > 0) {
			now, err = o.change(ctx, s, tenant)
		}
		if err != nil {
			return err
		}
		return o.print(now)
	})
}

// change checks and stores the defaults of a tenant with the settings that were given.
func (o *tokenDefaultsOptions) change(ctx context.Context, s *store.Store, tenant session.Tenant) (now config.RunOverrides, err error) {
	sessions, err := o.app.Sessions()
	if err != nil {
		return now, err
	}
	sandboxes, err := o.app.Sandboxes(sessions)
	if err != nil {
		return now, err
	}
	return s.ChangeDefaults(ctx, tenant, func(defaults *config.RunOverrides) error {
		changed := defaults.Without(o.unset...)
		if err := changed.Override(o.settings); err != nil {
			return err
		}
		*defaults = changed
		return sandboxes.CheckDefaults(ctx, tenant, changed)
	})
}

func (o *tokenDefaultsOptions) print(defaults config.RunOverrides) error {
	if o.json {
		return printJSON(o.out, defaults)
	}
	if defaults.IsZero() {
		fmt.Fprintln(o.err, "the tenant has no defaults")
		return nil
	}
	var rows [][]string
	for _, key := range defaults.Keys() {
		rows = append(rows, []string{key, termtext.Escape(defaults.Text(key))})
	}
	return table(o.out, "", rows)
}
