package docs

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
)

// writeAgents writes a table of all agents and a section for each.
func writeAgents(out *strings.Builder, all []agents.Agent) error {
	out.WriteString("| agent | version | speaks | what it is |\n| --- | --- | --- | --- |\n")
	for _, agent := range all {
		info := agent.Info()
		fmt.Fprintf(out, "| [%s](#%s) | %s | %s | %s |\n", info.Name, anchor(info.Title), info.Version, speech(info), cell(info.Summary))
	}
	for _, agent := range all {
		if err := writeAgent(out, agent); err != nil {
			return err
		}
	}
	return nil
}

func writeAgent(out *strings.Builder, agent agents.Agent) error {
	info := agent.Info()
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		return fmt.Errorf("%s: %w", info.Name, err)
	}
	fmt.Fprintf(out, "\n## %s\n\n%s.", info.Title, info.Summary)
	if info.Homepage != "" {
		fmt.Fprintf(out, " <%s>", info.Homepage)
	}
	out.WriteString("\n\n```sh\n" + examples(info, fields) + "```\n\n")
	for _, fact := range facts(info) {
		fmt.Fprintf(out, "- %s\n", fact)
	}
	for _, note := range info.Notes {
		fmt.Fprintf(out, "- %s\n", note)
	}
	return writeOptions(out, fields)
}

// loginNote says how the agent uses the user's account at its vendor.
func loginNote(info agents.Info) string {
	runs := "Its runs"
	if !info.OwnCloud {
		runs = "Its runs with `--inference " + agents.Cloud + "`"
	}
	note := fmt.Sprintf("`aibox login %s` stores a key of your account from <%s>. %s get it as `%s`.", info.Name, info.Account.Page, runs, info.Account.Variable)
	if info.Account.Limit != "" {
		note += " " + info.Account.Limit
	}
	return note
}

// examples are commands that can be typed.
func examples(info agents.Info, fields []spec.Field) string {
	if info.Name == "shell" {
		return "aibox run shell -- make test\naibox run shell -i\n"
	}
	if info.OwnCloud {
		return fmt.Sprintf("aibox login %s\naibox bake %s\naibox run %s --prompt \"fix the failing test\"\n", info.Name, info.Image, info.Name)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "aibox bake %s\naibox run %s --prompt \"fix the failing test\"\n", info.Image, info.Name)
	for _, field := range fields {
		if example := exampleOf(field); example != "" {
			fmt.Fprintf(&out, "aibox run %s --prompt-file task.md %s\n", info.Name, example)
			break
		}
	}
	if len(info.StateDirs) > 0 {
		out.WriteString("aibox run --resume 0dq4f --prompt \"now the next one\"\n")
	}
	return out.String()
}

// exampleOf is an option as a flag, "" when it makes no good example.
func exampleOf(field spec.Field) string {
	switch {
	case field.When != "" || field.Mode == spec.Interactive:
		return ""
	case field.Type == spec.Choice:
		return "--" + field.Key + "=" + field.Choices[len(field.Choices)-1]
	case field.Type == spec.Bool && field.Default == "":
		return "--" + field.Key
	default:
		return ""
	}
}

// facts describes an agent, one sentence each.
func facts(info agents.Info) []string {
	var all []string
	if info.Version != "" {
		all = append(all, fmt.Sprintf("Image `%s`, version %s; `aibox bake --version %s=… %s` builds another.", info.Image, info.Version, info.Image, info.Name))
	} else {
		all = append(all, fmt.Sprintf("Image `%s`.", info.Image))
	}
	switch {
	case info.OwnCloud:
		all = append(all, "Talks to its vendor's servers and to no others.")
	case len(info.Dialects) > 0:
		all = append(all, fmt.Sprintf("Speaks %s to the gateway, which adds your key.", speech(info)))
	}
	if info.HasLogin() {
		all = append(all, loginNote(info))
	}
	switch e := info.Events; {
	case e.Format.Known() && e.OnRequest:
		all = append(all, fmt.Sprintf("Prints its conversation as events with `%s=%s`.", e.Option, e.Value))
	case e.Format.Known():
		all = append(all, fmt.Sprintf("Prints its conversation as events, which aibox shows as text. Set `%s` to choose another output.", e.Option))
	}
	if len(info.StateDirs) > 0 {
		all = append(all, fmt.Sprintf("Keeps its conversations in %s, which a session keeps for `--resume`.", codes(info.StateDirs)))
	}
	if len(info.Hosts) > 0 {
		all = append(all, fmt.Sprintf("Its vendor's hosts, none of which a sandbox can reach by default: %s.", codes(info.Hosts)))
	}
	return all
}

// writeOptions writes a table of the options for each group, and the secrets.
func writeOptions(out *strings.Builder, fields []spec.Field) error {
	var groups []string
	members, secrets := map[string][]spec.Field{}, []spec.Field(nil)
	for _, field := range fields {
		if field.Type == spec.Secret {
			secrets = append(secrets, field)
			continue
		}
		if members[field.Group] == nil {
			groups = append(groups, field.Group)
		}
		members[field.Group] = append(members[field.Group], field)
	}
	for _, group := range groups {
		out.WriteString("\n")
		if group != "" {
			fmt.Fprintf(out, "**%s**\n\n", group)
		}
		if err := spec.Markdown(out, members[group]); err != nil {
			return err
		}
	}
	if len(secrets) > 0 {
		out.WriteString("\nSecrets, taken from your environment and never from a command line or a file:\n\n")
	}
	for _, field := range secrets {
		fmt.Fprintf(out, "- `$%s`: %s\n", field.Env, field.Help)
	}
	return nil
}

// speech describes how an agent talks to a model.
func speech(info agents.Info) string {
	if info.OwnCloud {
		return "its own cloud"
	}
	var names []string
	for _, dialect := range info.Dialects {
		names = append(names, dialect.String())
	}
	return strings.Join(names, ", ")
}

// anchor is how a page's heading is linked to.
func anchor(title string) string {
	return strings.ReplaceAll(strings.ToLower(title), " ", "-")
}

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// cell is text that is safe between the bars of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
