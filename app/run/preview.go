package run

import (
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/internal/secret"
	"aibox/internal/shellquote"
)

// Placeholders in the preview for values that are known only while the session runs.
const (
	standInGateway = "http://10.200.200.1:11434"
	standInModel   = "MODEL"
)

// Preview describes how the agent of a plan is started in its sandbox: its command line,
// its environment and its files, one per line, raw. Secrets are shown as dots. The plan may
// come from a failed Resolve; without an agent or its options there is no preview.
func (r *Runner) Preview(plan Plan) (string, error) {
	launched := &plan.Launch.Spec
	agent, err := r.User.Agents().Find(launched.Agent)
	if err != nil {
		return "", err
	}
	if err := setOptions(agent, launched.Options); err != nil {
		return "", err
	}
	dots := secret.New("x").String()
	hidden := map[string]string{}
	for key := range plan.Launch.Secrets {
		hidden[key] = dots
	}
	if err := setSecrets(agent, hidden); err != nil {
		return "", err
	}
	model := launched.Model
	if model == "" {
		model = standInModel
	}
	invocation, err := agent.Command(agents.Task{
		Prompt: launched.Prompt, Interactive: launched.Interactive, Resume: launched.Continues() != "", Workdir: "/workspace", Args: launched.Args,
		Inference: agents.Inference{BaseURL: standInGateway, Key: dots, Model: model},
	})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintln(&out, shellquote.Join(invocation.Argv))
	for _, variable := range invocation.Env {
		fmt.Fprintln(&out, variable)
	}
	for _, file := range invocation.Files {
		fmt.Fprintf(&out, "file %s\n", file.Path)
	}
	return out.String(), nil
}
