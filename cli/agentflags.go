package cli

import (
	"strconv"
	"strings"

	"aibox/agents/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// declare makes a flag of an option in options.
func declare(flags *pflag.FlagSet, field spec.Field, options any) {
	help := field.Help
	switch {
	case field.Type == spec.List:
		help += " (comma-separated)"
	case len(field.Choices) > 0:
		help += " (" + strings.Join(field.Choices, ", ") + ")"
	}
	value := field.Text(options)
	if field.Type == spec.Bool {
		on, _ := strconv.ParseBool(value)
		flags.Bool(field.Key, on, help)
		return
	}
	flags.String(field.Key, value, help)
}

// fixed completes a flag or argument with the same words always.
func fixed(words ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAgents completes the name of an agent.
func (a *cli) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, agent := range a.app.Agents().All() {
		words = append(words, agent.Info().Name+"\t"+agent.Info().Summary)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeSessions completes the id of a session.
func (a *cli) completeSessions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := a.app.Sessions()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	sessions, _ := service.List()
	var words []string
	for _, s := range sessions {
		if !s.ID.Hidden() {
			words = append(words, string(s.ID)+"\t"+string(s.State.Phase))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
