package agents

import (
	"cmp"
	"encoding/json"
	"fmt"

	"aibox/agents/conversation"
	"aibox/internal/fault"
)

// OpenCode is the open-source agent of opencode.ai. It speaks every dialect.
type OpenCode struct {
	Agent           string   `label:"Agent" help:"Which OpenCode agent to use: build changes files, plan only reads" flag:"--agent"`
	Approval        string   `label:"Approval" help:"Whether OpenCode asks you before commands and changes" choices:"ask auto" default:"auto" mode:"interactive" scope:"at-most"`
	Dialect         string   `label:"Dialect" help:"API that OpenCode uses to talk to the model server, if its default is not the best" choices:"openai-chat openai-responses anthropic gemini" group:"Model"`
	SmallModel      string   `label:"Small model" help:"Model for titles; defaults to the main model" type:"model" group:"Model"`
	ReasoningEffort string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" choices:"none minimal low medium high xhigh" group:"Model"`
	Variant         string   `label:"Variant" help:"Model effort, in OpenCode's terms, such as high or max" flag:"--variant" mode:"headless" group:"Model"`
	MaxSteps        int      `label:"Most steps" help:"Tell the model to finish after this many answers" min:"1" max:"100000" group:"Model"`
	Thinking        bool     `label:"Thinking" help:"Print the model's thinking" flag:"--thinking" mode:"headless" group:"Output"`
	Format          string   `label:"Format" help:"Plain text, or every event as a line of JSON" flag:"--format" choices:"default json" mode:"headless" group:"Output"`
	File            []string `label:"Files" help:"Files in the sandbox to send with the prompt" flag:"--file=" mode:"headless" group:"Input"`
	SlashCommand    string   `label:"Command" help:"A command from the repository's OpenCode settings, with the prompt as its arguments" flag:"--command" mode:"headless" group:"Input"`
	Title           string   `label:"Title" help:"Name of the conversation" flag:"--title" mode:"headless" group:"Advanced"`
	Pure            bool     `label:"No plugins" help:"Run without plugins" flag:"--pure" group:"Advanced"`
	PrintLogs       bool     `label:"Print logs" help:"Print OpenCode's own log" flag:"--print-logs" mode:"headless" group:"Advanced"`
	LogLevel        string   `label:"Log level" help:"What OpenCode writes to its own log" flag:"--log-level" choices:"DEBUG INFO WARN ERROR" group:"Advanced"`
}

// Info describes OpenCode.
func (*OpenCode) Info() Info {
	return Info{
		Name:        "opencode",
		Title:       "OpenCode",
		Summary:     "Open-source coding agent for any model",
		Homepage:    "https://opencode.ai",
		Image:       "opencode",
		Version:     "1.18.33",
		Dialects:    []Dialect{OpenAIChat, OpenAIResponses, Anthropic, Gemini},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.OpenCode, Option: "format", Value: "json"},
		StateDirs:   []string{"~/.local/share/opencode"},
		Hosts:       []string{"opencode.ai", "models.opencode.ai"},
		Notes: []string{
			"Contacts its package registry once per run; the refusal does no harm.",
			"Does not run with --inference cloud: aibox knows no login to its vendor's cloud that works in a sandbox. Use that cloud's API as a model server, with --inference URL.",
			"Its snapshots and /undo are off: use aibox diff and discard instead.",
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
		return Invocation{}, fault.New(fault.Usage, "OpenCode takes no prompt when it continues a conversation on a terminal").
			Hint("drop --prompt and type it in the terminal, or drop -i")
	}
	extra, env, err := options(o, task)
	if err != nil {
		return Invocation{}, err
	}
	config, err := o.config(task)
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
	if !o.asks(task) {
		argv = append(argv, "--auto")
	}
	if task.Resume {
		argv = append(argv, "--continue")
	}
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{Argv: argv, Env: env, Files: task.instructionsFile(instructionsPath)}
	// If the prompt were an argument of `run`, OpenCode would quote it and escape its quotes.
	return inv.addPrompt(task, "--prompt="), nil
}

// openCodeKey is the variable from which OpenCode takes the placeholder key.
const openCodeKey = "AIBOX_API_KEY"

// asks reports whether the agent asks the user before it acts.
func (o *OpenCode) asks(task Task) bool { return task.Interactive && o.Approval == "ask" }

// openCodeProviders are OpenCode's parts for the dialects, each with the address of its
// model server.
var openCodeProviders = map[Dialect]struct {
	npm  string
	base func(Inference) string
}{
	OpenAIChat:      {"@ai-sdk/openai-compatible", Inference.OpenAI},
	OpenAIResponses: {"@ai-sdk/openai", Inference.OpenAI},
	Anthropic:       {"@ai-sdk/anthropic", func(i Inference) string { return i.Anthropic() + "/v1" }},
	Gemini:          {"@ai-sdk/google", func(i Inference) string { return i.Gemini() + "/v1beta" }},
}

// dialect returns the dialect that the user chose, or the first that the server speaks.
func (o *OpenCode) dialect(task Task) (Dialect, error) {
	info := o.Info()
	if o.Dialect != "" {
		var asked Dialect
		if err := asked.UnmarshalText([]byte(o.Dialect)); err != nil {
			return NoDialect, err
		}
		info.Dialects = []Dialect{asked}
	}
	return task.dialect(info)
}

// config is OpenCode's whole configuration: one provider, and no questions, sharing or
// updates. Its snapshots are off: they copy every file into a separate git repository
// before each step, which doubles the time of a step under gVisor, and aibox has the
// baseline.
func (o *OpenCode) config(task Task) (string, error) {
	dialect, err := o.dialect(task)
	if err != nil {
		return "", err
	}
	provider, model := openCodeProviders[dialect], task.Inference
	models := map[string]any{model.Model: o.model(model.Context)}
	small := cmp.Or(o.SmallModel, model.Model)
	if small != model.Model {
		models[small] = map[string]any{}
	}
	config := map[string]any{
		"autoupdate":        false,
		"share":             "disabled",
		"snapshot":          false,
		"model":             "aibox/" + model.Model,
		"small_model":       "aibox/" + small,
		"enabled_providers": []string{"aibox"},
		"permission":        "allow",
		"provider": map[string]any{"aibox": map[string]any{
			"npm":     provider.npm,
			"name":    "aibox",
			"options": map[string]any{"baseURL": provider.base(model), "apiKey": "{env:" + openCodeKey + "}"},
			"models":  models,
		}},
	}
	if len(task.MCP) > 0 {
		config["mcp"] = task.mcpServers(func(s MCPServer) map[string]any {
			return map[string]any{"type": "remote", "url": s.URL, "enabled": true}
		})
	}
	if o.asks(task) {
		config["permission"] = map[string]any{"edit": "ask", "bash": "ask"}
	}
	if task.Instructions != "" {
		config["instructions"] = []string{instructionsPath}
	}
	if o.MaxSteps > 0 {
		config["agent"] = map[string]any{cmp.Or(o.Agent, "build"): map[string]any{"steps": o.MaxSteps}}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("writing OpenCode's configuration: %w", err)
	}
	return string(text), nil
}

// model describes the model to OpenCode. Without these limits, OpenCode does not summarize
// a conversation before its context is full, and requests answers of its default size.
func (o *OpenCode) model(context int) map[string]any {
	known := map[string]any{}
	if context > 0 {
		known["limit"] = map[string]any{"context": context, "output": min(context/4, 32000)}
	}
	if o.ReasoningEffort != "" {
		known["reasoning"] = true
		known["options"] = map[string]any{"reasoningEffort": o.ReasoningEffort}
	}
	return known
}

var openCodePrompts = []Prompt{newPrompt(`Permission required`, `Allow once .*Reject`)}

// Prompts returns OpenCode's question: permission for a command or a change.
func (*OpenCode) Prompts() []Prompt { return openCodePrompts }
