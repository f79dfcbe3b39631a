package cli

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
)

// commandLine is the command that does without the form what options say.
func (o *runOptions) commandLine(given map[string]string, options any) string {
	words := append([]string{"aibox", "run", o.agent}, o.form.flags...)
	eachChosen(given, options, func(field spec.Field, text string) {
		switch {
		case !o.form.own[field.Key]:
			words = append(words, "--set", field.Key+"="+text)
		case field.Type == spec.Bool && text == "true":
			words = append(words, "--"+field.Key)
		case field.Type == spec.Bool:
			words = append(words, "--"+field.Key+"=false")
		default:
			words = append(words, "--"+field.Key+"="+text)
		}
	})
	if len(o.args) > 0 {
		words = append(append(words, "--"), o.args...)
	}
	return quoteAll(words)
}

// The preview's stand-ins for what is known only when the session runs.
const (
	standInGateway = "http://10.200.200.1:11434"
	standInModel   = "MODEL"
	dots           = "••••••••"
)

// preview is what draft would run: the command, and what the agent is started with.
// No secret gets as far as here but as dots.
func (a *cli) preview(o *runOptions, given map[string]string, draft any) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", o.commandLine(given, draft))
	invocation, err := a.standIn(o, draft)
	if err != nil {
		fmt.Fprintf(&out, "\n%s\n", err)
		return out.String()
	}
	fmt.Fprintf(&out, "\nIn the sandbox:\n%s", invoked(invocation))
	return out.String()
}

// invoked is what an agent is started with, in lines.
func invoked(invocation agents.Invocation) string {
	var out strings.Builder
	fmt.Fprintln(&out, quoteAll(invocation.Argv))
	for _, variable := range invocation.Env {
		fmt.Fprintln(&out, variable)
	}
	for _, file := range invocation.Files {
		fmt.Fprintf(&out, "file %s\n", file.Path)
	}
	return out.String()
}

// standIn is the agent's command with a model that is not known yet.
func (a *cli) standIn(o *runOptions, draft any) (agents.Invocation, error) {
	agent, err := a.app.Agents().Find(o.agent)
	if err != nil {
		return agents.Invocation{}, err
	}
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		return agents.Invocation{}, err
	}
	for _, field := range fields {
		if err := field.Set(options, field.Text(draft)); err != nil { // a secret's text is dots
			return agents.Invocation{}, err
		}
	}
	model := o.Model
	if model == "" {
		model = standInModel
	}
	return agent.Command(agents.Task{
		Prompt: o.prompt, Interactive: o.interactive, Resume: o.resume != "", Workdir: "/workspace", Args: o.args,
		Inference: agents.Inference{BaseURL: standInGateway, Key: dots, Model: model},
	})
}

// quoteAll is words as a shell takes them.
func quoteAll(words []string) string { return run.Line(words) }
