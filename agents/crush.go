package agents

import (
	"encoding/json"
	"fmt"
	"time"
)

// Crush is Charm's terminal agent, one native program.
type Crush struct {
	SmallModel      string   `label:"Small model" help:"Model for titles and summaries; defaults to the main model" type:"model" group:"Model"`
	ReasoningEffort string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" choices:"low medium high" group:"Model"`
	MaxTokens       int      `label:"Answer tokens" help:"Maximum tokens of one answer" min:"1" max:"1000000" group:"Model"`
	NoTools         bool     `label:"No tools" help:"Offer the model no tools, for servers that do not support them" group:"Model"`
	DisabledTools   []string `label:"Tools off" help:"Tools of Crush to disable, such as bash" group:"Tools"`
	NoSummaries     bool     `label:"No summaries" help:"Never summarize a long conversation" group:"Advanced"`
	Attribution     bool     `label:"Attribution" help:"Mention Crush in its commit messages" group:"Advanced"`
	Verbose         bool     `label:"Verbose" help:"Print more about what Crush does" flag:"--verbose" mode:"headless" group:"Output"`
	Debug           bool     `label:"Debug" help:"Write more to Crush's own log" flag:"--debug" group:"Advanced"`
}

// Info describes Crush.
func (*Crush) Info() Info {
	return Info{
		Name:        "crush",
		Title:       "Crush",
		Summary:     "Charm's terminal agent: starts quickly, needs little memory",
		Homepage:    "https://github.com/charmbracelet/crush",
		Image:       "crush",
		Version:     "0.96.1",
		Dialects:    []Dialect{OpenAIChat, Anthropic},
		NeedsPrompt: true,
		StateDirs:   []string{"~/.local/share/crush"},
		Hosts:       []string{"api.github.com", "catwalk.charm.land"},
		Notes: []string{
			"Checks for a newer version once per run; the refusal does no harm.",
			"Its image downloads the program from its makers' release page, in addition to npm's registry.",
		},
	}
}

// crushData is where Crush keeps conversations, outside the repository.
const crushData = Home + "/.local/share/crush/data"

// Command is `crush run` for a headless task and `crush` for an interactive one.
func (c *Crush) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	if err := task.refusePrompt(c.Info()); err != nil {
		return Invocation{}, err
	}
	config, err := c.config(task)
	if err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task)
	if err != nil {
		return Invocation{}, err
	}
	argv := []string{"crush"}
	if task.Interactive {
		argv = append(argv, "--yolo")
	} else {
		argv = append(argv, "run", "--quiet")
	}
	argv = append(argv, "--data-dir", crushData)
	if task.Resume {
		argv = append(argv, "--continue")
	}
	inv := Invocation{
		Argv: append(append(argv, extra...), task.Args...),
		Env:  append([]string{crushKey + "=" + task.Inference.Key, "DO_NOT_TRACK=1"}, env...),
		Files: append(task.instructionsFile(instructionsPath),
			File{Path: "~/.config/crush/crush.json", Mode: 0o600, Data: config},
			// If this file exists, Crush does not offer to analyze the project.
			File{Path: crushData + "/init", Mode: 0o600}),
	}
	if task.Interactive {
		return inv, nil
	}
	argv, files := withPrompt(inv.Argv, task.Prompt)
	inv.Argv, inv.Files, inv.Env = argv, append(inv.Files, files...), append(inv.Env, "NO_COLOR=1")
	return inv, nil
}

// crushKey is the variable from which Crush takes the placeholder key.
const crushKey = "AIBOX_API_KEY"

// crushContext is the context size of an unknown model: Crush needs one, since it
// summarizes a conversation before its context is full.
const crushContext = 128 << 10

// config is Crush's whole configuration: one provider, without telemetry and updates.
func (c *Crush) config(task Task) ([]byte, error) {
	dialect, err := task.dialect(c.Info())
	if err != nil {
		return nil, err
	}
	model := task.Inference
	kind, base := "openai-compat", model.OpenAI()
	if dialect == Anthropic {
		kind, base = "anthropic", model.Anthropic()
	}
	known := []any{c.model(model.Model, model.Context)}
	large := map[string]any{"provider": "aibox", "model": model.Model}
	small := map[string]any{"provider": "aibox", "model": model.Model}
	if c.SmallModel != "" && c.SmallModel != model.Model {
		known = append(known, c.model(c.SmallModel, 0))
		small["model"] = c.SmallModel
	}
	if c.ReasoningEffort != "" {
		large["reasoning_effort"] = c.ReasoningEffort
	}
	if c.MaxTokens != 0 {
		large["max_tokens"] = c.MaxTokens
	}
	style := "none"
	if c.Attribution {
		style = "assisted-by"
	}
	settings := map[string]any{
		"disable_provider_auto_update": true, "disable_metrics": true,
		"attribution": map[string]any{"trailer_style": style, "generated_with": c.Attribution},
	}
	if c.NoSummaries {
		settings["disable_auto_summarize"] = true
	}
	if len(c.DisabledTools) > 0 {
		settings["disabled_tools"] = c.DisabledTools
	}
	if task.Instructions != "" {
		settings["context_paths"] = []string{instructionsPath}
	}
	whole := map[string]any{
		"options": settings,
		"models":  map[string]any{"large": large, "small": small},
		"providers": map[string]any{"aibox": map[string]any{
			"name": "aibox", "type": kind, "base_url": base, "api_key": "$" + crushKey,
			"disable_tools": c.NoTools, "models": known,
		}},
	}
	if len(task.MCP) > 0 {
		whole["mcp"] = task.mcpServers(func(s MCPServer) map[string]any {
			return map[string]any{"type": "http", "url": s.URL, "timeout": int(mcpTimeout / time.Second)}
		})
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("writing Crush's configuration: %w", err)
	}
	return text, nil
}

// model describes a model to Crush.
func (c *Crush) model(id string, context int) map[string]any {
	if context == 0 {
		context = crushContext
	}
	return map[string]any{
		"id": id, "name": id, "context_window": context, "default_max_tokens": min(8<<10, context),
		"can_reason": c.ReasoningEffort != "",
	}
}

// For a long diff, the title of a permission is too far above its buttons. In a narrow
// terminal the buttons are below each other. The last patterns are for questions of the
// model: one of several answers, some of them, yes or no, a text, and several questions at
// once. Their keys are in the last row, whose end a narrow terminal cuts off.
var crushPrompts = []Prompt{
	newPrompt(`Allow +Allow for Session +Deny`).onScreen(),
	newPrompt(`Permission Required`, `Allow for Session`, `Deny`).onScreen(),
	newPrompt(`1-[1-9] quick select|↓ down • (enter select|space toggle)|←/→ switch|enter submit •|\[ prev tab|enter (select|done) • esc exit|enter save note`).atEnd(),
}

// Prompts returns Crush's questions: permission for a tool, and those of the model.
func (*Crush) Prompts() []Prompt { return crushPrompts }
