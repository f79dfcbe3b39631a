package agents

import (
	"encoding/json"
	"fmt"

	"aibox/internal/fault"
)

// OpenCode is the open-source agent of opencode.ai. It speaks OpenAI's chat
// dialect to aibox's gateway.
type OpenCode struct {
	Agent    string   `label:"Agent" help:"Which of OpenCode's agents works: build changes files, plan only reads" flag:"--agent"`
	Variant  string   `label:"Variant" help:"Effort of the model as OpenCode names it, such as high or max" flag:"--variant" mode:"headless"`
	Thinking bool     `label:"Thinking" help:"Print the model's thinking" flag:"--thinking" mode:"headless" group:"Output"`
	Format   string   `label:"Format" help:"Plain text, or every event as a line of JSON" flag:"--format" choices:"default json" mode:"headless" group:"Output"`
	File     []string `label:"Files" help:"Files in the box to send with the prompt" flag:"--file=" mode:"headless" group:"Input"`
	Title    string   `label:"Title" help:"Name of the conversation" flag:"--title" mode:"headless" group:"Advanced"`
	Pure     bool     `label:"No plugins" help:"Run without plugins" flag:"--pure" group:"Advanced"`
	LogLevel string   `label:"Log level" help:"What OpenCode writes to its own log" flag:"--log-level" choices:"DEBUG INFO WARN ERROR" group:"Advanced"`
}

// Info tells facts about OpenCode.
func (*OpenCode) Info() Info {
	return Info{
		Name:        "opencode",
		Title:       "OpenCode",
		Summary:     "Open-source coding agent for any model",
		Homepage:    "https://opencode.ai",
		Image:       "opencode",
		Version:     "1.18.33",
		Dialects:    []Dialect{OpenAIChat},
		NeedsPrompt: true,
		StateDirs:   []string{"~/.local/share/opencode"},
		Hosts:       []string{"opencode.ai", "models.opencode.ai"},
		Notes: []string{
			"Asks its package registry once per run; being refused costs it nothing.",
			"Keeps no snapshots of its own, so its /undo is off: aibox diff and discard take its place.",
			"Needs about 600 MB of memory, a terminal session about 1 GB.",
		},
	}
}

// Command is `opencode run` for a headless task and `opencode` for an interactive
// one.
func (o *OpenCode) Command(task Task) (Invocation, error) {
	if err := task.check(o.Info()); err != nil {
		return Invocation{}, err
	}
	if task.Interactive && task.Resume && task.Prompt != "" {
		return Invocation{}, fault.New(fault.Usage, "OpenCode takes no prompt when it goes on with a conversation on a terminal").
			Hint("leave --prompt out and type it, or leave -i out")
	}
	extra, env, err := options(o, task.mode())
	if err != nil {
		return Invocation{}, err
	}
	config, err := openCodeConfig(task.Inference)
	if err != nil {
		return Invocation{}, err
	}
	env = append([]string{
		openCodeKey + "=" + task.Inference.Key,
		"OPENCODE_CONFIG_CONTENT=" + config,
		"OPENCODE_DISABLE_AUTOUPDATE=true",
		"OPENCODE_DISABLE_MODELS_FETCH=true",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=true",
		"OPENCODE_DISABLE_SHARE=true",
	}, env...)
	argv := []string{"opencode"}
	if !task.Interactive {
		argv = append(argv, "run")
	}
	argv = append(argv, "--auto")
	if task.Resume {
		argv = append(argv, "--continue")
	}
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{Argv: argv, Env: env}
	switch {
	case !task.Interactive:
		// On the command line OpenCode would quote the prompt and escape its quotes.
		inv.Env = append(inv.Env, "NO_COLOR=1")
		inv.Argv, inv.Files = withPrompt(argv, task.Prompt)
	case task.Prompt != "":
		prompt, files := promptArgument(task.Prompt)
		inv.Argv, inv.Files = append(argv, "--prompt="+prompt), files
	}
	return inv, nil
}

// openCodeKey is the variable from which OpenCode takes the placeholder key.
const openCodeKey = "AIBOX_API_KEY"

// openCodeConfig is OpenCode's whole configuration: one provider, nothing that
// asks, shares or updates. Its snapshots, a git repository of its own that takes in
// every file before each step, double the time of a step under gVisor; aibox has
// the baseline.
func openCodeConfig(model Inference) (string, error) {
	id := "aibox/" + model.Model
	config := map[string]any{
		"autoupdate":        false,
		"share":             "disabled",
		"snapshot":          false,
		"model":             id,
		"small_model":       id,
		"enabled_providers": []string{"aibox"},
		"permission":        "allow",
		"provider": map[string]any{"aibox": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"name":    "aibox",
			"options": map[string]any{"baseURL": model.OpenAI(), "apiKey": "{env:" + openCodeKey + "}"},
			"models":  map[string]any{model.Model: map[string]any{}},
		}},
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("writing OpenCode's configuration: %w", err)
	}
	return string(text), nil
}
