package cli

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app"
	"aibox/app/template"
	"aibox/config"
	"aibox/internal/termtext"
	"aibox/netguard/preset"

	"github.com/spf13/cobra"
)

// completer completes arguments and values of flags with what exists on this machine.
type completer struct{ app *app.App }

// agents completes the name of an agent.
func (c completer) agents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, agent := range c.app.Agents().All() {
		words = append(words, agent.Info().Name+"\t"+agent.Info().Summary)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// agentList completes --agent: the names of agents, several with commas between them.
func (c completer) agentList(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	words, directive := c.agents(cmd, nil, typed)
	return afterCommas(words, typed), directive
}

// listOf completes a list with the words, several with commas between them.
func listOf(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return afterCommas(words, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// afterCommas returns the words, each after what typed has up to its last comma. It leaves out those
// that typed already has. After a comma the words have no descriptions: cobra's script for bash quotes
// words with descriptions before it compares them, and quotes a comma, which the user does not.
func afterCommas(words []string, typed string) []string {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	given := strings.Split(before, ",")
	var all []string
	for _, word := range words {
		name, _, _ := strings.Cut(word, "\t")
		switch {
		case slices.Contains(given, name):
		case before != "":
			all = append(all, before+name)
		default:
			all = append(all, word)
		}
	}
	return all
}

// followedBy returns the words with a suffix, before their descriptions.
func followedBy(suffix string, words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		name, about, _ := strings.Cut(word, "\t")
		all[i] = name + suffix + "\t" + about
	}
	return all
}

// options completes --set: the key of an option of the agent, then its values.
func (c completer) options(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name := cmd.Name() // run codex
	if given := cmd.Flags().Lookup("agent"); given != nil && given.Changed {
		name = given.Value.String()
	} else if len(args) > 0 {
		name = args[0]
	}
	agent, err := c.app.Agents().Find(name)
	if err != nil {
		return nil, directive
	}
	fields, _ := spec.Of(agents.Options(agent))
	key, _, chosen := strings.Cut(typed, "=")
	var words []string
	for _, field := range fields {
		switch {
		case !chosen:
			words = append(words, field.Key+"=\t"+field.Help)
		case field.Key == key:
			for _, choice := range field.Choices {
				words = append(words, key+"="+choice)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		}
	}
	return words, directive
}

// environment completes the names of the user's environment variables.
func (c completer) environment(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return afterCommas(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// builtinTemplates completes the name of a template that another one can build on.
func (c completer) builtinTemplates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range c.app.Templates().List() {
		if template.IsBuiltin(t.Name) {
			words = append(words, t.Name+"\t"+t.Summary)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// warmTemplates completes the name in TEMPLATE=MIN..MAX.
func (c completer) warmTemplates(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	words, _ := c.templates(cmd, nil, typed)
	return followedBy("=", words), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// ownTemplates completes the name of a template of the user's own.
func (c completer) ownTemplates(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range c.app.Templates().List() {
		if t.Source == template.Own && len(args) == 0 {
			words = append(words, t.Name+"\t"+t.Summary)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// logins completes the name of an agent with an account at its vendor.
func (c completer) logins(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, agent := range c.app.Agents().All() {
		if info := agent.Info(); info.HasLogin() {
			words = append(words, info.Name+"\t"+info.Summary)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// templates completes the name of a template.
func (c completer) templates(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if len(args) == 0 {
		for _, t := range c.app.Templates().List() {
			words = append(words, t.Name+"\t"+t.Summary)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// recipes completes the names of agents and templates.
func (c completer) recipes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	words, directive := c.templates(cmd, nil, typed) // each agent has one
	words = slices.DeleteFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(word, "\t")
		return slices.Contains(args, name)
	})
	return words, directive
}

// settings completes the key of a setting.
func (c completer) settings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	resolved, err := c.app.Catalog().Resolve(config.Input{})
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := make([]string, 0, len(resolved.All()))
	for _, setting := range resolved.All() {
		words = append(words, setting.Key+"\t"+setting.Field.Help)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// settingAndValue completes a key, and then the values that it may have.
func (c completer) settingAndValue(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.settings(cmd, args, prefix)
	}
	resolved, err := c.app.Catalog().Resolve(config.Input{})
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	setting, err := resolved.Find(args[0])
	switch {
	case err != nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case setting.Key == "agent":
		return c.agents(cmd, nil, prefix)
	default:
		return setting.Values(), cobra.ShellCompDirectiveNoFileComp
	}
}

// setting completes the value of a setting: with files where it can name one, and with nothing where
// nothing is known.
func (c completer) setting(field spec.Field) cobra.CompletionFunc {
	switch {
	case field.Type == spec.Choices:
		return listOf(field.Choices...)
	case len(field.Choices) > 0:
		return fixed(field.Choices...)
	case field.Type == spec.Model:
		return c.models
	case field.Key == "inference":
		return fixed(app.InferenceNames()...)
	case field.Key == "allow":
		return listOf(preset.Names()...)
	case field.Key == "system":
		return c.prompts
	case field.Key == "env":
		return c.environment
	case field.Key == "hide", field.Key == "read-only", field.Key == "mount":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	}
	return fixed()
}

// models completes the id of a model of the command line's server.
func (c completer) models(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	inference, err := inferenceOf(c.app, cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var words []string
	for _, model := range c.app.CompleteModels(ctx, inference) {
		word := model.ID
		if text := windowText(model); text != "-" {
			word += "\t" + text + " tokens of context"
		}
		words = append(words, word)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// prompts completes the name of a system prompt.
func (c completer) prompts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	library, err := app.Prompts(".")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := library.All()
	var words []string
	for _, p := range all {
		words = append(words, p.Name+"\t"+termtext.Escape(firstLine(p.Title(), 60)))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// batches completes the ids of batches.
func (c completer) batches(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	service, err := c.app.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	summaries, _ := service.Summaries()
	var words []string
	for _, s := range slices.Backward(summaries) {
		if word := string(s.Batch) + "\t" + termtext.Escape(firstLine(s.Task, 40)); s.Batch != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// compared completes the ids of batches and sessions.
func (c completer) compared(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	batches, directive := c.batches(cmd, args, typed)
	sessions, _ := c.sessions(cmd, nil, typed)
	return append(batches, sessions...), directive
}

// saved completes the id of a session with saved states.
func (c completer) saved(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := c.app.Sessions()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	saved, _ := service.Recoverable(cmd.Context(), "")
	var words []string
	seen := map[string]bool{}
	for _, s := range saved {
		if !seen[s.By] {
			seen[s.By], words = true, append(words, s.By+"\t"+about(s))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// savedStates completes --ref with the states of the named session.
func (c completer) savedStates(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := c.app.Sessions()
	if err != nil || len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	saved, _ := service.Recoverable(cmd.Context(), args[0])
	var words []string
	for _, s := range saved {
		words = append(words, s.Handle+"\t"+about(s))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// sessionAndPort completes the id of a session, then the ports on which its programs listen.
func (c completer) sessionAndPort(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return c.running(cmd, args, text)
	}
	service, err := c.app.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := service.Find(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	listening, _ := service.Ports(cmd.Context(), found.ID)
	var words []string
	for _, l := range portsOf(listening) {
		words = append(words, strconv.Itoa(int(l.Port))+"\ton "+strings.Join(l.Addresses, ", "))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// auditLogs completes the ids of sessions with audit logs.
func (c completer) auditLogs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := c.app.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	logs, _ := service.AuditLogs()
	var words []string
	for _, log := range logs {
		switch {
		case log.Session.Hidden() || strings.Contains(strings.Join(args, " ")+" ", string(log.Session)+" "):
		case log.Removed:
			words = append(words, string(log.Session)+"\tremoved")
		default:
			words = append(words, string(log.Session))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// fixed completes a flag or argument with the same words always.
func fixed(words ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
