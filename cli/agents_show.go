package cli

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/bakery"
)

// show prints an agent: its description, then its options by group.
func (o *agentsOptions) show(agent agents.Agent, states map[string]bakery.State) error {
	info := agent.Info()
	fmt.Fprintf(o.out, "%s %s\n%s.\n", o.term.bold(info.Title), info.Version, info.Summary)
	if info.Homepage != "" {
		fmt.Fprintln(o.out, info.Homepage)
	}
	facts := [][]string{{"speaks to the model", dialectsOf(info)}, {"image", info.Image + ", " + stateOf(states, info.Image)}}
	if len(info.StateDirs) > 0 {
		facts = append(facts, []string{"conversations", strings.Join(info.StateDirs, ", ") + ", saved with the session"})
	}
	if len(info.Scratch) > 0 {
		facts = append(facts, []string{"no change", strings.Join(info.Scratch, ", ") + ", which it keeps in the repository for its own use"})
	}
	if len(info.Hosts) > 0 {
		facts = append(facts, []string{"hosts of its vendor", strings.Join(info.Hosts, ", ")})
	}
	if info.HasLogin() {
		facts = append(facts, []string{"login", o.loginFact(info)})
	}
	if file := o.app.CustomAgents().Files[info.Name]; file != "" {
		facts = append(facts, []string{"file", safe(file)})
	}
	fmt.Fprintln(o.out)
	if err := table(o.out, "", facts); err != nil {
		return err
	}
	for i, note := range info.Notes {
		if i == 0 {
			fmt.Fprintln(o.out)
		}
		fmt.Fprintln(o.out, note)
	}
	return o.showOptions(info.Name, agents.Options(agent))
}

// loginFact says whether the user is logged in to the agent's vendor, and where the key is.
func (o *agentsOptions) loginFact(info agents.Info) string {
	switch source, found := o.loginOf(info); {
	case !found:
		return "none; `aibox login " + info.Name + "` stores the key of your account"
	case source.File != "":
		return "the key in " + safe(source.File) + ", as " + info.Account.Variable
	default:
		return "the key that your key-command prints, as " + info.Account.Variable
	}
}

// showOptions prints options under their groups' headings, in one set of columns.
func (c *console) showOptions(name string, options any) error {
	fields, err := spec.Of(options)
	if err != nil || len(fields) == 0 {
		return err
	}
	fmt.Fprintf(c.out, "\nOptions, as flags of `aibox run %s`, as --set KEY=VALUE or in [agents.%s] of the settings:\n", name, name)
	var groups []string
	members := map[string][]spec.Field{}
	for _, field := range fields {
		if members[field.Group] == nil {
			groups = append(groups, field.Group)
		}
		members[field.Group] = append(members[field.Group], field)
	}
	var rows [][]string
	for _, group := range groups {
		if group != "" {
			rows = append(rows, []string{c.term.bold(group), "", ""}) // one set of columns
		}
		for _, field := range members[group] {
			rows = append(rows, []string{"  " + field.Key, optionValues(field), field.Help + optionNotes(field)})
		}
	}
	return c.explained(rows)
}

// optionValues describes the values of an option.
func optionValues(f spec.Field) string {
	switch {
	case f.Type == spec.Secret:
		return "from $" + f.Env
	case f.Type == spec.Choices:
		return "any of " + strings.Join(f.Choices, " ")
	case len(f.Choices) > 0:
		return strings.Join(f.Choices, " | ")
	case f.Min != nil || f.Max != nil:
		return f.Bounds()
	default:
		return f.Type.String()
	}
}

// optionNotes returns the other facts about an option, in brackets.
func optionNotes(f spec.Field) string {
	var notes []string
	if f.Default != "" {
		notes = append(notes, "default "+f.Default)
	}
	if f.Mode != spec.Both {
		notes = append(notes, f.Mode.String()+" only")
	}
	if f.When != "" {
		notes = append(notes, "with "+f.When)
	}
	if f.Env != "" && f.Type != spec.Secret {
		notes = append(notes, "sets $"+f.Env)
	}
	switch f.Scope {
	case spec.Repository:
		notes = append(notes, "a repository can set it")
	case spec.AtMost, spec.AtLeast:
		notes = append(notes, "a repository can tighten it")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}
