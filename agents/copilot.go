package agents

import (
	"strconv"

	"aibox/agents/conversation"
)

// Copilot is GitHub's Copilot CLI. With your own model it needs no login. With GitHub's
// models it needs an account; the variables for a token are those of
// https://docs.github.com/copilot/how-tos/copilot-cli/set-up-copilot-cli/authenticate-copilot-cli
type Copilot struct {
	ReasoningEffort       string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" flag:"--reasoning-effort" choices:"none minimal low medium high xhigh max" scope:"repository" group:"Model"`
	MaxOutputTokens       int      `label:"Longest answer" help:"Maximum tokens of one answer of the model" env:"COPILOT_PROVIDER_MAX_OUTPUT_TOKENS" min:"256" max:"1000000" scope:"at-most" group:"Model"`
	KnownModel            string   `label:"Known as" help:"Name of a similar model that Copilot knows, for its limits and prompts" env:"COPILOT_PROVIDER_MODEL_ID" group:"Model"`
	Permissions           string   `label:"Permissions" help:"What Copilot does without asking, within the limits of the sandbox; headless, it denies what it would ask for" choices:"ask tools all" default:"all" scope:"at-most" group:"Limits"`
	Mode                  string   `label:"Mode" help:"Work turn by turn, plan first, or continue until the task is done" flag:"--mode" choices:"interactive plan autopilot" group:"Limits"`
	MaxAutopilotContinues int      `label:"Most continuations" help:"How often autopilot continues by itself" flag:"--max-autopilot-continues" min:"1" max:"1000" scope:"at-most" when:"mode=autopilot" group:"Limits"`
	AskUser               bool     `label:"May ask you" help:"Let Copilot ask questions while it works" mode:"interactive" group:"Limits"`
	AllowTool             []string `label:"Allowed tools" help:"Tools to use without asking, such as shell(git:*) or write" flag:"--allow-tool=" when:"permissions=ask" group:"Tools"`
	DenyTool              []string `label:"Denied tools" help:"Tools never to use, such as shell(git push)" flag:"--deny-tool=" scope:"at-least" group:"Tools"`
	AvailableTools        []string `label:"Tools" help:"Tools that the model can see; all if empty" flag:"--available-tools=" scope:"at-most" group:"Tools"`
	ExcludedTools         []string `label:"Hidden tools" help:"Tools that are hidden from the model" flag:"--excluded-tools=" scope:"at-least" group:"Tools"`
	AllowURL              []string `label:"Allowed addresses" help:"URLs or domains to open without asking" flag:"--allow-url=" when:"permissions!=all" group:"Tools"`
	DenyURL               []string `label:"Denied addresses" help:"URLs or domains never to open" flag:"--deny-url=" scope:"at-least" group:"Tools"`
	AddDir                []string `label:"More folders" help:"More folders in the sandbox to work in" flag:"--add-dir=" group:"Tools"`
	MCPConfig             []string `label:"MCP servers" help:"MCP servers, as JSON or @file in the sandbox" flag:"--additional-mcp-config=" group:"Tools"`
	DisableMCPServer      []string `label:"MCP servers off" help:"Names of MCP servers to disable" flag:"--disable-mcp-server=" scope:"at-least" group:"Tools"`
	Agent                 string   `label:"Agent" help:"Name of the custom agent to use" flag:"--agent" group:"Prompt"`
	NoCustomInstructions  bool     `label:"No custom instructions" help:"Ignore AGENTS.md and similar files" flag:"--no-custom-instructions" group:"Prompt"`
	Attachment            []string `label:"Attachments" help:"Pictures or documents in the sandbox to show with the prompt" flag:"--attachment=" mode:"headless" group:"Prompt"`
	OutputFormat          string   `label:"Output" help:"Plain text, or every event as a line of JSON" flag:"--output-format" choices:"text json" mode:"headless" scope:"repository" group:"Output"`
	Stats                 bool     `label:"Statistics" help:"Print changes and usage at the end" mode:"headless" group:"Output"`
	Stream                string   `label:"Stream" help:"Print answers in pieces as they arrive, or whole" flag:"--stream" choices:"on off" scope:"repository" group:"Output"`
	ScreenReader          bool     `label:"Screen reader" help:"Print output for screen readers" flag:"--screen-reader" mode:"interactive" group:"Output"`
	Name                  string   `label:"Name" help:"Name of the conversation" flag:"--name" group:"Advanced"`
	LogLevel              string   `label:"Log level" help:"What Copilot writes to its own log" flag:"--log-level" choices:"none error warning info debug all" group:"Advanced"`
	Experimental          bool     `label:"Experimental" help:"Turn on experimental features" flag:"--experimental" group:"Advanced"`
	PluginDir             []string `label:"Plugins" help:"Folders in the sandbox with plugins" flag:"--plugin-dir=" group:"Advanced"`
}

// Info describes Copilot CLI.
func (*Copilot) Info() Info {
	return Info{
		Name:        "copilot",
		Title:       "GitHub Copilot CLI",
		Summary:     "GitHub's coding agent, with your own model and no login",
		Homepage:    "https://docs.github.com/copilot/how-tos/copilot-cli",
		Image:       "copilot",
		Version:     "1.0.102",
		Dialects:    []Dialect{OpenAIChat, OpenAIResponses, Anthropic},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Copilot, Option: "output-format", Value: "json"},
		StateDirs:   []string{"~/.copilot/session-state"},
		HasCloud:    true,
		Account:     Account{Variable: "COPILOT_GITHUB_TOKEN", Page: "https://github.com/settings/personal-access-tokens"},
		Hosts: []string{
			"api.github.com", "github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com",
			"api.business.githubcopilot.com", "api.enterprise.githubcopilot.com", "copilot-proxy.githubusercontent.com",
		},
		Notes: []string{
			"Runs offline: GitHub, its MCP server, telemetry and web tools are off. With --inference cloud it logs in to GitHub, headless with the token of `aibox login copilot`.",
			"Asks for no permission, because it runs inside a sandbox; --permissions ask changes that.",
			"Assumes that a model has a context of 128,000 tokens, unless the server reports more or --known-model names another model.",
		},
	}
}

// copilotDialect is Copilot's name for a dialect.
type copilotDialect struct {
	kind, wire string
	base       func(Inference) string
}

var copilotDialects = map[Dialect]copilotDialect{
	OpenAIChat:      {"openai", "completions", Inference.OpenAI},
	OpenAIResponses: {"openai", "responses", Inference.OpenAI},
	Anthropic:       {"anthropic", "", Inference.Anthropic},
}

// Command is `copilot` with the prompt on its standard input for a headless task,
// and `copilot -i` for an interactive one.
func (c *Copilot) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	api, err := task.dialect(c.Info())
	if err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task)
	if err != nil {
		return Invocation{}, err
	}
	if c.NoCustomInstructions { // it would also omit aibox's servers
		task.Prompt, task.Instructions = task.instructedPrompt(), ""
	}
	argv := append([]string{"copilot"}, c.flags(task)...)
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{
		Argv:  argv,
		Env:   append(copilotEnv(task.Inference, copilotDialects[api]), env...),
		Files: task.instructionsFile("~/.copilot/copilot-instructions.md"),
	}
	inv = inv.addPrompt(task, "--interactive=")
	if task.Interactive {
		inv.Files = append(inv.Files,
			File{Path: "~/.copilot/config.json", Mode: 0o600, Data: encode(map[string]any{"trustedFolders": task.trusted()})},
			File{Path: "~/.copilot/settings.json", Mode: 0o600, Data: encode(map[string]any{"banner": "never", "showTipsOnStartup": false})})
	}
	return inv, nil
}

// flags returns the flags that depend on more than one option.
func (c *Copilot) flags(task Task) []string {
	flags := []string{"--no-auto-update", "--disable-builtin-mcps"}
	switch c.Permissions {
	case "ask":
	case "tools":
		flags = append(flags, "--allow-all-tools")
	default:
		flags = append(flags, "--allow-all")
	}
	if !task.Interactive || !c.AskUser {
		flags = append(flags, "--no-ask-user")
	}
	if !task.Interactive && !c.Stats {
		flags = append(flags, "--silent")
	}
	if c.AvailableTools != nil && len(c.AvailableTools) == 0 {
		flags = append(flags, "--available-tools=none") // an empty list would mean all
	}
	if task.Resume {
		flags = append(flags, "--continue")
	}
	if len(task.MCP) > 0 {
		servers := task.mcpServers(func(s MCPServer) map[string]any {
			return map[string]any{"type": "http", "url": s.URL, "tools": []string{"*"}}
		})
		flags = append(flags, "--additional-mcp-config="+string(encode(map[string]any{"mcpServers": servers})))
	}
	return flags
}

// copilotEnv names the server and the model, and keeps Copilot from asking any other host.
// With GitHub's own servers it names only the model.
func copilotEnv(model Inference, dialect copilotDialect) []string {
	if model.Cloud {
		env := []string{"COPILOT_AUTO_UPDATE=false"}
		if model.Model != "" {
			env = append(env, "COPILOT_MODEL="+model.Model)
		}
		return env
	}
	env := []string{
		"COPILOT_PROVIDER_TYPE=" + dialect.kind,
		"COPILOT_PROVIDER_BASE_URL=" + dialect.base(model),
		"COPILOT_PROVIDER_API_KEY=" + model.Key,
		"COPILOT_MODEL=" + model.Model,
		"COPILOT_OFFLINE=true",
		"COPILOT_AUTO_UPDATE=false",
	}
	if dialect.wire != "" {
		env = append(env, "COPILOT_PROVIDER_WIRE_API="+dialect.wire)
	}
	if model.Context > 0 {
		env = append(env, "COPILOT_PROVIDER_MAX_PROMPT_TOKENS="+strconv.Itoa(model.Context))
	}
	return env
}

var copilotPrompts = []Prompt{newPrompt(`^[ │]*❯ \d+\. `, `enter to select`)}

// Prompts returns Copilot's questions: permission for a command, a change or an address.
func (*Copilot) Prompts() []Prompt { return copilotPrompts }
