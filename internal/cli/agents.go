package cli

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"

	"github.com/spf13/cobra"
)

// agents are all agents that can be run.
func (a *app) agents() agents.Set { return agents.Builtin() }

func (a *app) agentsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "agents",
		Short:   "List the agents aibox knows",
		Example: "  aibox agents\n  aibox agents show codex",
		Args:    knownCommand,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(a.out, described(a.agents().All()))
			}
			var rows [][]string
			for _, agent := range a.agents().All() {
				info := agent.Info()
				rows = append(rows, []string{info.Name, info.Version, speech(info.Dialects), info.Summary})
			}
			return table(a.out, "AGENT\tVERSION\tSPEAKS\tWHAT IT IS", rows)
		},
	}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:               "show AGENT",
		Short:             "Show an agent with its options",
		Example:           "  aibox agents show codex",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			agent, err := a.agents().Find(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.out, described([]agents.Agent{agent})[0])
			}
			return a.showAgent(agent)
		},
	})
	return cmd
}

// speech names dialects for people.
func speech(dialects []agents.Dialect) string {
	if len(dialects) == 0 {
		return agents.NoDialect.String()
	}
	names := make([]string, len(dialects))
	for i, dialect := range dialects {
		names[i] = dialect.String()
	}
	return strings.Join(names, ", ")
}

// description is an agent as JSON shows it.
type description struct {
	agents.Info
	Options []spec.Field
}

func described(all []agents.Agent) []description {
	var list []description
	for _, agent := range all {
		fields, err := spec.Of(agents.Options(agent))
		if err != nil {
			continue // a test of the registry makes sure that this cannot be
		}
		list = append(list, description{agent.Info(), fields})
	}
	return list
}

func (a *app) showAgent(agent agents.Agent) error {
	info := agent.Info()
	fmt.Fprintf(a.out, "%s %s\n%s.\n", a.term.bold(info.Title), info.Version, info.Summary)
	if info.Homepage != "" {
		fmt.Fprintln(a.out, info.Homepage)
	}
	fmt.Fprintf(a.out, "\nSpeaks to the model: %s. Image %s.\n", speech(info.Dialects), info.Image)
	if len(info.StateDirs) > 0 {
		fmt.Fprintf(a.out, "Keeps its conversations in %s, which a session keeps for it.\n", strings.Join(info.StateDirs, ", "))
	}
	for _, note := range info.Notes {
		fmt.Fprintln(a.out, note)
	}
	fields, err := spec.Of(agents.Options(agent))
	if err != nil || len(fields) == 0 {
		return err
	}
	fmt.Fprintf(a.out, "\nOptions, as --set KEY=VALUE or as flags of `aibox run %s`:\n", info.Name)
	var rows [][]string
	for _, field := range fields {
		values := field.Type.String()
		if len(field.Choices) > 0 {
			values = strings.Join(field.Choices, " | ")
		}
		rows = append(rows, []string{"  " + field.Key, values, field.Help})
	}
	return table(a.out, "", rows)
}
