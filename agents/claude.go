package agents

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"aibox/agents/conversation"
)

// Claude is Anthropic's Claude Code.
type Claude struct {
	Effort             string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" flag:"--effort" choices:"low medium high xhigh max" scope:"repository" group:"Model"`
	FallbackModel      string   `label:"Fallback model" help:"Model to use while the main model is overloaded" flag:"--fallback-model" type:"model" group:"Model"`
	SmallModel         string   `label:"Small model" help:"Model for titles, summaries and searches; defaults to the main model" type:"model" group:"Model"`
	SubagentModel      string   `label:"Subagents' model" help:"Model of the subagents that Claude starts; defaults to the main model" env:"CLAUDE_CODE_SUBAGENT_MODEL" type:"model" group:"Model"`
	MaxOutputTokens    int      `label:"Longest answer" help:"Maximum tokens of one answer of the model" env:"CLAUDE_CODE_MAX_OUTPUT_TOKENS" min:"256" max:"1000000" scope:"at-most" group:"Model"`
	MaxThinkingTokens  int      `label:"Longest thought" help:"Maximum tokens of thinking before an answer" env:"MAX_THINKING_TOKENS" min:"1" max:"1000000" scope:"at-most" group:"Model"`
	PermissionMode     string   `label:"Permissions" help:"What Claude does without asking, within the limits of the sandbox; headless, it denies what it would ask for" flag:"--permission-mode" choices:"plan manual dontAsk acceptEdits auto bypassPermissions" default:"bypassPermissions" scope:"at-most" group:"Limits"`
	MaxTurns           int      `label:"Most turns" help:"Number of model answers after which Claude gives up" flag:"--max-turns" min:"1" max:"100000" mode:"headless" scope:"at-most" group:"Limits"`
	MaxBudget          int      `label:"Largest bill" help:"Cost in dollars after which Claude stops, by its own price list" flag:"--max-budget-usd" min:"1" max:"100000" mode:"headless" scope:"at-most" group:"Limits"`
	Tools              []string `label:"Tools" help:"Built-in tools that are available, such as Bash, Edit and Read" flag:"--tools=" scope:"at-most" group:"Tools"`
	AllowedTools       []string `label:"Allowed tools" help:"Tools to use without asking, such as Bash(git *)" flag:"--allowed-tools=" when:"permission-mode!=bypassPermissions" group:"Tools"`
	DisallowedTools    []string `label:"Denied tools" help:"Tools never to use, such as WebFetch" flag:"--disallowed-tools=" scope:"at-least" group:"Tools"`
	MCPConfig          []string `label:"MCP servers" help:"MCP servers, as JSON or files in the sandbox" flag:"--mcp-config=" group:"Tools"`
	StrictMCPConfig    bool     `label:"No other MCP servers" help:"Ignore the MCP servers that the repository defines" flag:"--strict-mcp-config" scope:"at-least" group:"Tools"`
	Agent              string   `label:"Agent" help:"Name of the agent to use, from the repository or from Agents" flag:"--agent" group:"Prompt"`
	Agents             string   `label:"Agents" help:"More agents, as a JSON object" flag:"--agents" type:"text" group:"Prompt"`
	SystemPrompt       string   `label:"System prompt" help:"Replaces Claude's own system prompt" type:"text" group:"Prompt"`
	AppendSystemPrompt string   `label:"More system prompt" help:"Appended to the system prompt" type:"text" group:"Prompt"`
	AddDir             []string `label:"More folders" help:"More folders in the sandbox to work in" flag:"--add-dir=" group:"Prompt"`
	OutputFormat       string   `label:"Output" help:"Plain text, one JSON object at the end, or every event as a line of JSON" flag:"--output-format" choices:"text json stream-json" mode:"headless" scope:"repository" group:"Output"`
	PartialMessages    bool     `label:"Partial messages" help:"Print answers in pieces as they arrive" flag:"--include-partial-messages" mode:"headless" scope:"repository" when:"output-format=stream-json" group:"Output"`
	JSONSchema         string   `label:"Answer's schema" help:"JSON schema of the last answer" flag:"--json-schema" type:"text" mode:"headless" group:"Output"`
	Verbose            bool     `label:"Verbose" help:"Print every turn in full" flag:"--verbose" scope:"repository" group:"Output"`
	Name               string   `label:"Name" help:"Name of the conversation" flag:"--name" group:"Advanced"`
	Settings           string   `label:"Settings" help:"Settings of Claude Code, as a file in the sandbox or JSON" flag:"--settings" group:"Advanced"`
	SettingSources     []string `label:"Settings files" help:"Settings files to use; without project, the repository's are ignored" choices:"user project local" group:"Advanced"`
	SafeMode           bool     `label:"Safe mode" help:"Ignore everything the repository adds: CLAUDE.md, skills, hooks, MCP servers" flag:"--safe-mode" group:"Advanced"`
	Bare               bool     `label:"Bare" help:"Ignore hooks, language servers, memory and CLAUDE.md" flag:"--bare" group:"Advanced"`
	Debug              bool     `label:"Debug" help:"Print debug output of Claude Code" flag:"--debug" group:"Advanced"`
}

// Info describes Claude Code.
func (*Claude) Info() Info {
	return Info{
		Name:        "claude",
		Title:       "Claude Code",
		Summary:     "Anthropic's coding agent: starts quickly, a single native program",
		Homepage:    "https://code.claude.com",
		Image:       "claude",
		Version:     "2.1.329",
		Dialects:    []Dialect{Anthropic},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Claude, Option: "output-format", Value: "stream-json"},
		StateDirs:   []string{"~/.claude/projects"},
		HasCloud:    true,
		Account:     Account{Variable: "ANTHROPIC_API_KEY", Page: "https://platform.claude.com/settings/keys"},
		Hosts:       []string{"api.anthropic.com", "platform.claude.com", "claude.ai"},
		Notes: []string{
			"Speaks only Anthropic's API: the model server must offer /v1/messages.",
			"Asks for no permission, because it runs inside a sandbox; --permission-mode plan or manual changes that.",
			"Its WebSearch runs on the model server. It is off unless inference-tools opens web-search.",
			"Exits 0 when it was denied a tool and gave up: aibox shows what changed.",
			"Sends about 15,000 tokens before the prompt, so a context below 32,768 is too small.",
		},
	}
}

// Command is `claude -p` for a headless task and `claude` for an interactive one.
func (c *Claude) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	if err := c.checkTools(task.Inference); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task)
	if err != nil {
		return Invocation{}, err
	}
	argv := []string{"claude"}
	if !task.Interactive {
		argv = append(argv, "-p")
	}
	argv = append(argv, task.Inference.modelFlag("--model")...)
	if task.Resume {
		// Without the second flag it would keep the previous run's instructions.
		argv = append(argv, "--continue", "--system-prompt-snapshot", "off")
	}
	if c.Tools != nil && len(c.Tools) == 0 {
		argv = append(argv, "--tools=") // an empty list means none, not all
	}
	if !task.Inference.opens(webSearch) {
		argv = append(argv, "--disallowed-tools="+claudeSearch) // it asks the model's server to search
	}
	if len(c.SettingSources) > 0 {
		argv = append(argv, "--setting-sources", strings.Join(c.SettingSources, ","))
	}
	if OutputOf(c, task).Format == conversation.Claude && !c.Verbose {
		argv = append(argv, "--verbose") // it refuses one without the other
	}
	flags, files := c.systemPrompts(task)
	if len(task.MCP) > 0 {
		flags = append(flags, "--mcp-config="+mcpFile)
		files = append(files, File{Path: mcpFile, Mode: 0o600, Data: encode(map[string]any{"mcpServers": task.mcpServers(httpServer)})})
	}
	argv = append(append(append(argv, flags...), extra...), task.Args...)
	inv := Invocation{Argv: argv, Env: append(c.env(task.Inference), env...), Files: files}
	inv = inv.addPrompt(task, "--")
	if task.Interactive {
		inv.Files = append(inv.Files, claudeAnswers(task)...)
	}
	return inv, nil
}

// printsText reports whether the answer follows a schema, so that programs can read it.
func (c *Claude) printsText() bool { return c.JSONSchema != "" }

// claudeSearch is Claude's tool that searches on the model's server. WebFetch is different:
// it runs in the sandbox.
const claudeSearch = "WebSearch"

// checkTools refuses options that select a tool which the gateway refuses.
func (c *Claude) checkTools(model Inference) error {
	if err := model.needsOpen("tools", webSearch, c.Tools, claudeSearch); err != nil {
		return err
	}
	return model.needsOpen("allowed-tools", webSearch, c.AllowedTools, claudeSearch)
}

// claudeSystem is the file of the user's system prompt.
const claudeSystem = "/run/aibox/system.md"

// systemPrompts returns the flags and files of the system prompt and of the text that is
// appended to it. They are files because an argument cannot be longer than 128 KiB.
func (c *Claude) systemPrompts(task Task) (flags []string, files []File) {
	if c.SystemPrompt != "" {
		flags = append(flags, "--system-prompt-file", claudeSystem)
		files = append(files, File{Path: claudeSystem, Mode: 0o600, Data: []byte(c.SystemPrompt)})
	}
	task.Instructions = join(task.Instructions, c.AppendSystemPrompt)
	if task.Instructions != "" {
		flags = append(flags, "--append-system-prompt-file", instructionsPath)
	}
	return flags, append(files, task.instructionsFile(instructionsPath)...)
}

// env names the server and the model for every purpose, and turns off requests to other
// hosts. IS_SANDBOX lets it work as root without asking. A failing model is tried four
// times, not eleven: enough to wait for a busy one, without a long silence.
func (c *Claude) env(model Inference) []string {
	small := c.SmallModel
	if small == "" {
		small = model.Model
	}
	var server []string
	if !model.Cloud {
		server = []string{"ANTHROPIC_BASE_URL=" + model.Anthropic(), "ANTHROPIC_API_KEY=" + model.Key}
	}
	env := append(server,
		"CLAUDE_CODE_MAX_RETRIES=3",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"IS_SANDBOX=1",
	)
	if model.Cloud {
		return env
	}
	env = append(env, claudePins(model.Model, small)...)
	return append(env, c.contextEnv(model)...)
}

// claudeContext is the context size that Claude assumes for an unknown model. It
// would assume a million tokens.
const claudeContext = 200_000

// contextEnv returns the model's context size. The space for an answer must not fill a
// small context, or Claude would summarize without end.
func (c *Claude) contextEnv(model Inference) []string {
	known := model.Context
	switch {
	case known == 0 && strings.HasPrefix(model.Model, "claude"):
		return nil
	case known == 0:
		return []string{"CLAUDE_CODE_MAX_CONTEXT_TOKENS=" + strconv.Itoa(claudeContext)}
	}
	env := []string{"CLAUDE_CODE_MAX_CONTEXT_TOKENS=" + strconv.Itoa(known)}
	if known < claudeContext && c.MaxOutputTokens == 0 {
		env = append(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS="+strconv.Itoa(max(known/8, 1024)))
	}
	return env
}

// claudeAnswers returns the answers to Claude's questions on a terminal at its first start:
// theme, the folder's trust, the key (of which it keeps the last 20 characters), and
// whether to go without asking.
func claudeAnswers(task Task) []File {
	key := task.Inference.Key
	projects := map[string]any{}
	for _, folder := range task.trusted() {
		projects[folder] = map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}
	}
	state := map[string]any{
		"hasCompletedOnboarding":        true,
		"theme":                         "dark",
		"bypassPermissionsModeAccepted": true,
		"projects":                      projects,
	}
	if !task.Inference.Cloud {
		state["customApiKeyResponses"] = map[string]any{"approved": []string{key[max(len(key)-20, 0):]}, "rejected": []string{}}
	}
	return []File{
		{Path: "~/.claude.json", Mode: 0o600, Data: encode(state)},
		{Path: "~/.claude/settings.json", Mode: 0o600, Data: encode(map[string]any{"skipDangerousModePermissionPrompt": true})},
	}
}

// encode returns a settings file in JSON.
func encode(settings map[string]any) []byte {
	text, err := json.Marshal(settings)
	if err != nil {
		panic(fmt.Sprintf("strings, numbers and lists always encode: %v", err))
	}
	return text
}

// join returns two texts, one after the other.
func join(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}

var claudePrompts = []Prompt{newPrompt(`^[ │]*❯ \d+\. `, `Esc to cancel`)}

// Prompts returns Claude's questions: permission for a tool, and questions of the model.
func (*Claude) Prompts() []Prompt { return claudePrompts }
