package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/bakery"
	"aibox/config"

	"github.com/spf13/cobra"
)

// agentsOptions is one call of `aibox agents`.
type agentsOptions struct{ *cli }

func newAgentsCommand(a *cli) *cobra.Command {
	o := agentsOptions{cli: a}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the available agents, and add your own",
		Long: `List the available agents. To add your own, write a TOML file: "aibox agents new"
creates one, and "aibox agents check" tests it.`,
		Example: "  aibox agents\n  aibox agents show codex\n  aibox agents new mybot",
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), asJSON) },
	}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:               "show AGENT",
		Short:             "Show an agent and its options",
		Example:           "  aibox agents show codex",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.complete.agents,
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := a.app.Agents().Find(args[0])
			if err != nil {
				return err
			}
			states := a.imageStates(cmd.Context())
			if asJSON {
				described, err := o.describe(agent, states)
				return errors.Join(err, printJSON(a.out, described))
			}
			return o.show(agent, states)
		},
	}, newNewAgentCommand(a), newCheckAgentCommand(a, &asJSON), newAgentSchemaCommand(a))
	return cmd
}

func (o *agentsOptions) list(ctx context.Context, asJSON bool) error {
	o.warnBrokenAgents()
	states := o.imageStates(ctx)
	if asJSON {
		all := []agentJSON{}
		for _, agent := range o.app.Agents().All() {
			described, err := o.describe(agent, states)
			if err != nil {
				return err
			}
			all = append(all, described)
		}
		return printJSON(o.out, all)
	}
	var rows [][]string
	for _, agent := range o.app.Agents().All() {
		info := agent.Info()
		name := info.Name
		if o.app.CustomAgents().Files[name] != "" {
			name += " (yours)"
		}
		rows = append(rows, []string{name, stateOf(states, info.Image), o.loginState(info), info.Version, info.Summary})
	}
	return o.overview("AGENT\tIMAGE\tLOGIN\tVERSION\tDESCRIPTION", rows)
}

// dockerTimeout bounds how long a list of agents waits for the daemon to report their
// images.
const dockerTimeout = 700 * time.Millisecond

// imageStates returns the states of all images by name, or nil if the daemon does not
// answer in time.
func (a *cli) imageStates(ctx context.Context) map[string]bakery.State {
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	builder, err := a.app.Builder(ctx)
	if err != nil {
		return nil
	}
	all, err := builder.Check(ctx)
	if err != nil {
		return nil
	}
	states := map[string]bakery.State{}
	for _, status := range all {
		states[status.Name] = status.State
	}
	return states
}

// stateOf returns the state of an image for a table.
func stateOf(states map[string]bakery.State, image string) string {
	if state, ok := states[image]; ok {
		return state.String()
	}
	return "?"
}

// loginState says whether the user is logged in to the agent's vendor, for a table.
func (o *agentsOptions) loginState(info agents.Info) string {
	switch _, found := o.loginOf(info); {
	case !info.HasLogin():
		return "-"
	case found:
		return "yes"
	default:
		return "no"
	}
}

// loginOf returns where the key of the user's account at the agent's vendor is. Settings that
// cannot be read have none; what needs the settings reports that.
func (a *cli) loginOf(info agents.Info) (config.SecretSource, bool) {
	own, err := a.app.UserSettings()
	if err != nil {
		return config.SecretSource{}, false
	}
	source, found := own.Logins[info.Name]
	return source, found
}

// dialectsOf lists the dialects that an agent can use with a model server.
func dialectsOf(info agents.Info) string {
	if info.OwnCloud {
		return "its own cloud"
	}
	if len(info.Dialects) == 0 {
		return agents.NoDialect.String()
	}
	names := make([]string, len(info.Dialects))
	for i, dialect := range info.Dialects {
		names[i] = dialect.String()
	}
	return strings.Join(names, ", ")
}

// agentJSON is the JSON of an agent.
type agentJSON struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Summary     string           `json:"summary"`
	Homepage    string           `json:"homepage,omitempty"`
	Version     string           `json:"version,omitempty"`
	Image       string           `json:"image"`
	State       *bakery.State    `json:"image_state,omitempty"` // absent if the daemon did not answer
	Dialects    []agents.Dialect `json:"dialects"`
	OwnCloud    bool             `json:"own_cloud"`
	Login       *loginJSON       `json:"login,omitempty"` // absent for an agent without an account at a vendor
	NeedsPrompt bool             `json:"needs_prompt"`
	StateDirs   []string         `json:"state_dirs"`
	Scratch     []string         `json:"scratch"`
	Hosts       []string         `json:"hosts"`
	Notes       []string         `json:"notes"`
	File        string           `json:"file,omitempty"` // of a user's custom agent
	Options     []optionJSON     `json:"options"`
}

// loginJSON is the JSON of the user's account at an agent's vendor.
type loginJSON struct {
	LoggedIn bool   `json:"logged_in"`
	Variable string `json:"variable"` // with the key, in the sandbox
	Page     string `json:"page"`     // where the user creates the key
}

// optionJSON is the JSON of an option.
type optionJSON struct {
	Key     string     `json:"key"`
	Label   string     `json:"label"`
	Help    string     `json:"help"`
	Type    spec.Type  `json:"type"`
	Group   string     `json:"group,omitempty"`
	Choices []string   `json:"choices,omitempty"`
	Default string     `json:"default,omitempty"`
	Bounds  string     `json:"bounds,omitempty"`
	Flag    []string   `json:"flag,omitempty"`
	Env     string     `json:"env,omitempty"`
	Mode    spec.Mode  `json:"mode"`
	Scope   spec.Scope `json:"scope"`
	When    string     `json:"when,omitempty"`
}

func (o *agentsOptions) describe(agent agents.Agent, states map[string]bakery.State) (agentJSON, error) {
	info := agent.Info()
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		return agentJSON{}, fmt.Errorf("reading the options of %s: %w", info.Name, err)
	}
	d := agentJSON{
		Name: info.Name, Title: info.Title, Summary: info.Summary, Homepage: info.Homepage, Version: info.Version,
		Image: info.Image, OwnCloud: info.OwnCloud, NeedsPrompt: info.NeedsPrompt, File: o.app.CustomAgents().Files[info.Name],
		Dialects: append([]agents.Dialect{}, info.Dialects...), StateDirs: append([]string{}, info.StateDirs...), Scratch: append([]string{}, info.Scratch...),
		Hosts: append([]string{}, info.Hosts...), Notes: append([]string{}, info.Notes...), Options: []optionJSON{},
	}
	if state, ok := states[info.Image]; ok {
		d.State = &state
	}
	if info.HasLogin() {
		_, found := o.loginOf(info)
		d.Login = &loginJSON{found, info.Account.Variable, info.Account.Page}
	}
	for _, f := range fields {
		described := optionJSON{
			Key: f.Key, Label: f.Label, Help: f.Help, Type: f.Type, Group: f.Group, Choices: f.Choices, Default: f.Default,
			Flag: f.Flag, Env: f.Env, Mode: f.Mode, Scope: f.Scope, When: f.When,
		}
		if f.Min != nil || f.Max != nil {
			described.Bounds = f.Bounds()
		}
		d.Options = append(d.Options, described)
	}
	return d, nil
}

// warnBrokenAgents prints a line for each agent file that cannot be used.
func (a *cli) warnBrokenAgents() {
	for _, b := range a.app.CustomAgents().Broken {
		fmt.Fprintf(a.err, "%s %s is left out: %s\n", a.errTerm.warn("!"), safe(b.Path), firstLine(safe(b.Err.Error()), 300))
	}
}
