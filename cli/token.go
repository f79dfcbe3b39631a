package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/agents/spec"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/store"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session"

	"github.com/spf13/cobra"
)

func newTokenCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Manage the tokens of the API",
		Long: `Manage the tokens with which programs call the API over TCP. A token belongs to a tenant,
which cannot see another tenant's sandboxes. It has one or more of these rights:

  read       list sandboxes, sessions, templates, volumes and usage
  sandboxes  create, change and destroy sandboxes
  execute    run processes, read and write files, and reach ports in sandboxes
  network    choose what a sandbox or an agent can reach, and its model
  sessions   run coding agents and read their changes
  accept     deliver accepted changes to your repositories
  templates  build and delete templates
  volumes    create and delete volumes
  audit      read and verify audit logs`,
		Example: "  aibox token create\n  aibox token ls",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreateCommand(a), newTokenListCommand(a), newTokenRevokeCommand(a), newTokenQuotaCommand(a), newTokenDefaultsCommand(a))
	return cmd
}

// withStore calls do with the database of the API.
func withStore(ctx context.Context, do func(*store.Store) error) error {
	dirs, err := paths.Default()
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Path(dirs))
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// tokenCreateOptions are the flags of `aibox token create`.
type tokenCreateOptions struct {
	*cli

	tenant, name, expires string
	rights                []string
	json                  bool
}

// defaultRights are those of a token for which none are given: what programs need that use
// sandboxes of their own.
var defaultRights = []string{"read", "sandboxes", "execute", "network"}

func newTokenCreateCommand(a *cli) *cobra.Command {
	o := tokenCreateOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token, and print it once",
		Example: `  aibox token create
  aibox token create --tenant ci --right read,sandboxes,execute --expires 30d --name "nightly tests"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.tenant, "tenant", string(session.LocalTenant), "make the token for this tenant `NAME`; local is you, with your own sandboxes")
	flags.StringSliceVar(&o.rights, "right", defaultRights, "give the token these `RIGHTS` (comma-separated)")
	flags.StringVar(&o.expires, "expires", "90d", "make the token invalid after this `TIME`; 0 for never")
	flags.StringVar(&o.name, "name", "", "describe what the token is for")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("tenant", a.complete.tenants)
	_ = cmd.RegisterFlagCompletionFunc("right", listOf(rightNames()...))
	_ = cmd.RegisterFlagCompletionFunc("expires", fixed("1d", "7d", "30d", "90d", "0"))
	return cmd
}

func (o *tokenCreateOptions) run(ctx context.Context) error {
	tenant, err := session.ParseTenant(o.tenant)
	if err != nil {
		return err
	}
	var rights []aiboxv1.Right
	for _, name := range o.rights {
		right, err := auth.ParseRight(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		rights = append(rights, right)
	}
	if len(o.name) > 200 {
		return fault.New(fault.Usage, "a token's name has up to 200 bytes")
	}
	life, err := spec.ParseDuration(o.expires)
	if err != nil || life < 0 {
		return fault.New(fault.Usage, "%q is not a duration", o.expires).Hint("use one such as 12h or 30d, or 0 for never")
	}
	var expires time.Time
	if life > 0 {
		expires = time.Now().Add(life)
	}
	return withStore(ctx, func(s *store.Store) error {
		secret, token, err := s.CreateToken(ctx, tenant, o.name, rights, expires)
		if err != nil {
			return err
		}
		if err := o.print(secret, &token); err != nil {
			return errors.Join(err, s.RevokeToken(ctx, token.ID)) // nobody has seen it
		}
		return nil
	})
}

// print prints a new token.
func (o *tokenCreateOptions) print(secret string, token *store.Token) error {
	if o.json {
		shown := describeToken(token)
		shown.Token = secret
		return printJSON(o.out, shown)
	}
	if _, err := fmt.Fprintln(o.out, secret); err != nil {
		return err
	}
	fmt.Fprintf(o.err, "%s this is the only time that the token is shown; its id is %s\n", o.errTerm.faint("→"), token.ID)
	return nil
}

// shownToken is a token as JSON.
type shownToken struct {
	ID      string     `json:"id"`
	Token   string     `json:"token,omitempty"` // only at its creation
	Tenant  string     `json:"tenant"`
	Name    string     `json:"name"`
	Rights  []string   `json:"rights"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires"` // null: never
	Revoked *time.Time `json:"revoked"` // null: not
}

func describeToken(t *store.Token) shownToken {
	shown := shownToken{ID: t.ID, Tenant: string(t.Tenant), Name: t.Name, Rights: []string{}, Created: t.Created}
	for _, right := range t.Rights {
		shown.Rights = append(shown.Rights, auth.RightName(right))
	}
	if !t.Expires.IsZero() {
		shown.Expires = &t.Expires
	}
	if !t.Revoked.IsZero() {
		shown.Revoked = &t.Revoked
	}
	return shown
}

func newTokenListCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the tokens",
		Example: "  aibox token ls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *store.Store) error {
				tokens, err := s.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				return printTokens(a.console, tokens, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTokens(c *console, tokens []store.Token, asJSON bool) error {
	shown, rows := []shownToken{}, [][]string{}
	for i := range tokens {
		t := describeToken(&tokens[i])
		shown = append(shown, t)
		rows = append(rows, []string{t.ID, t.Tenant, tokenState(&tokens[i]), strings.Join(t.Rights, ","), safe(t.Name)})
	}
	switch {
	case asJSON:
		return printJSON(c.out, shown)
	case len(rows) == 0:
		fmt.Fprintln(c.err, "there are no tokens")
		return nil
	default:
		return c.overview("ID\tTENANT\tVALID\tRIGHTS\tNAME", rows)
	}
}

// tokenState says until when a token is valid.
func tokenState(t *store.Token) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case t.Expires.IsZero():
		return "forever"
	case !t.Expires.After(time.Now()):
		return "expired"
	default:
		return "until " + t.Expires.Local().Format(time.DateOnly)
	}
}

func newTokenRevokeCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID…",
		Short:   "Make tokens invalid at once",
		Example: "  aibox token revoke 3f7k2m4p",
		Args:    cobra.MinimumNArgs(1),

		ValidArgsFunction: a.complete.tokens,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return withStore(cmd.Context(), func(s *store.Store) error {
				return a.forEach(ids, func(id string) (string, error) {
					return id, s.RevokeToken(cmd.Context(), id)
				})
			})
		},
	}
}

func newTokenQuotaCommand(a *cli) *cobra.Command {
	var asJSON bool
	var set store.Quota
	cmd := &cobra.Command{
		Use:   "quota TENANT",
		Short: "Show or change the quota of a tenant",
		Long: `Show the quota of a tenant, or change the limits that are given. 0 means no limit. The
tenant local, which is you, has no limits unless you set them.`,
		Example: `  aibox token quota ci
  aibox token quota ci --sandboxes 50 --memory 64GiB`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.complete.tenants,
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant, err := session.ParseTenant(args[0])
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), func(s *store.Store) error {
				now, err := s.Quota(cmd.Context(), tenant)
				if changeQuota(cmd, &now, set) && err == nil {
					now, err = s.ChangeQuota(cmd.Context(), tenant, func(q *store.Quota) { changeQuota(cmd, q, set) })
				}
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(a.out, now)
				}
				return table(a.out, "", [][]string{
					{"sandboxes", bound(now.Sandboxes)},
					{"memory", sizeBound(now.Memory)},
					{"processors", bound(now.CPUs)},
					{"processes", bound(now.Processes)},
					{"disk", sizeBound(now.Disk)},
					{"sent in a day", sizeBound(now.UploadBytes >> 20)},
					{"tokens of models in a day", bound(now.Tokens)},
					{"snapshots", sizeBound(now.Snapshots >> 20)},
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&set.Sandboxes, "sandboxes", 0, "limit the sandboxes that run at the same time to this `NUMBER`")
	sizeVar(flags, &set.Memory, "memory", "limit the memory of all sandboxes together to this `SIZE`, such as 64GiB")
	flags.Float64Var(&set.CPUs, "cpus", 0, "limit the processors of all sandboxes together to this `NUMBER`")
	flags.Int64Var(&set.Processes, "processes", 0, "limit the processes of all sandboxes together to this `NUMBER`")
	sizeVar(flags, &set.Disk, "disk", "limit the disk space of volumes and uploaded trees, with what running sandboxes can still write, to this `SIZE`")
	sizeVar(flags, &set.UploadBytes, "upload", "limit uploads to hosts per day (UTC) to this `SIZE`")
	flags.Int64Var(&set.Tokens, "tokens", 0, "limit the tokens of models per day (UTC) to this `NUMBER`")
	sizeVar(flags, &set.Snapshots, "snapshots", "limit the disk space of snapshots to this `SIZE`")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// changeQuota takes over the bounds that were given.
func changeQuota(cmd *cobra.Command, now *store.Quota, set store.Quota) (changed bool) {
	for name, take := range map[string]func(){
		"sandboxes": func() { now.Sandboxes = set.Sandboxes },
		"memory":    func() { now.Memory = set.Memory },
		"cpus":      func() { now.CPUs = set.CPUs },
		"processes": func() { now.Processes = set.Processes },
		"disk":      func() { now.Disk = set.Disk },
		"upload":    func() { now.UploadBytes = set.UploadBytes << 20 },
		"tokens":    func() { now.Tokens = set.Tokens },
		"snapshots": func() { now.Snapshots = set.Snapshots << 20 },
	} {
		if cmd.Flags().Changed(name) {
			take()
			changed = true
		}
	}
	return changed
}

// bound returns a bound as users read it.
func bound[T int64 | float64](n T) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprint(n)
}

// sizeBound is bound for a size in MiB.
func sizeBound(mib int64) string {
	if mib == 0 {
		return bound(mib)
	}
	return amount.MiB(mib).String()
}
