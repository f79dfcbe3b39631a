package agents

import (
	"strconv"
	"strings"
	"time"

	"aibox/agents/conversation"
)

// Qwen is Qwen Code. It speaks four dialects.
type Qwen struct {
	ReasoningEffort    string        `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" choices:"low medium high xhigh max" scope:"repository" group:"Model"`
	FallbackModel      []string      `label:"Fallback models" help:"Models to use while the main model is overloaded; at most three" flag:"--fallback-model=" group:"Model"`
	FastModel          string        `label:"Small model" help:"Model for suggestions and summaries; defaults to the main model" type:"model" group:"Model"`
	MaxOutputTokens    int           `label:"Longest answer" help:"Maximum tokens of one answer of the model" env:"QWEN_CODE_MAX_OUTPUT_TOKENS" min:"256" max:"1000000" scope:"at-most" group:"Model"`
	RequestTimeout     time.Duration `label:"Request timeout" help:"Timeout of one request to the model" min:"1s" max:"24h" group:"Model"`
	ApprovalMode       string        `label:"Approval" help:"What Qwen does without asking, within the limits of the sandbox; headless, it denies what it would ask for" flag:"--approval-mode" choices:"plan default auto-edit auto yolo" default:"yolo" scope:"at-most" group:"Limits"`
	MaxTurns           int           `label:"Most turns" help:"Number of model answers after which Qwen gives up" flag:"--max-session-turns" min:"1" max:"100000" scope:"at-most" group:"Limits"`
	MaxToolCalls       int           `label:"Most tool calls" help:"Number of tool calls after which Qwen gives up" flag:"--max-tool-calls" min:"1" max:"1000000" mode:"headless" scope:"at-most" group:"Limits"`
	MaxWallTime        time.Duration `label:"Time" help:"How long Qwen works before it gives up" min:"1s" max:"168h" mode:"headless" scope:"at-most" group:"Limits"`
	MaxSubagentDepth   int           `label:"Deepest subagent" help:"How deeply subagents can start other subagents" flag:"--max-subagent-depth" min:"1" max:"100" scope:"at-most" group:"Limits"`
	CoreTools          []string      `label:"Tools" help:"Built-in tools that are available, such as run_shell_command and write_file" flag:"--core-tools=" scope:"at-most" group:"Tools"`
	AllowedTools       []string      `label:"Allowed tools" help:"Tools to use without asking" flag:"--allowed-tools=" when:"approval-mode!=yolo" group:"Tools"`
	ExcludeTools       []string      `label:"Denied tools" help:"Tools never to use" flag:"--exclude-tools=" scope:"at-least" group:"Tools"`
	MCPConfig          string        `label:"MCP servers" help:"MCP servers, as JSON or a file in the sandbox" flag:"--mcp-config" group:"Tools"`
	AllowedMCPServers  []string      `label:"Allowed MCP servers" help:"Names of the MCP servers to use; all if empty" flag:"--allowed-mcp-server-names=" group:"Tools"`
	Extensions         []string      `label:"Extensions" help:"Extensions to use; the name none disables all" flag:"--extensions=" group:"Tools"`
	SystemPrompt       string        `label:"System prompt" help:"Replaces Qwen's own system prompt" type:"text" group:"Prompt"`
	AppendSystemPrompt string        `label:"More system prompt" help:"Appended to the system prompt" flag:"--append-system-prompt" type:"text" group:"Prompt"`
	OutputStyle        string        `label:"Style" help:"How Qwen writes, such as Concise or Explanatory" flag:"--output-style" group:"Prompt"`
	IncludeDirectories []string      `label:"More folders" help:"More folders in the sandbox to work in" flag:"--include-directories=" group:"Prompt"`
	AutoMemory         bool          `label:"Memory" help:"Let Qwen keep notes for later conversations; this costs extra requests" group:"Prompt"`
	OutputFormat       string        `label:"Output" help:"Plain text, one JSON object at the end, or every event as a line of JSON" flag:"--output-format" choices:"text json stream-json" mode:"headless" scope:"repository" group:"Output"`
	PartialMessages    bool          `label:"Partial messages" help:"Print answers in pieces as they arrive" flag:"--include-partial-messages" mode:"headless" scope:"repository" when:"output-format=stream-json" group:"Output"`
	JSONSchema         string        `label:"Answer's schema" help:"JSON schema of the last answer, as JSON or @file in the sandbox" flag:"--json-schema" type:"text" mode:"headless" group:"Output"`
	ScreenReader       bool          `label:"Screen reader" help:"Print output for screen readers" flag:"--screen-reader" mode:"interactive" group:"Output"`
	Bare               bool          `label:"Bare" help:"Ignore everything that Qwen would discover by itself" flag:"--bare" group:"Advanced"`
	SafeMode           bool          `label:"Safe mode" help:"Ignore everything the repository adds: context files, hooks, skills, MCP servers" flag:"--safe-mode" group:"Advanced"`
	Debug              bool          `label:"Debug" help:"Print debug output of Qwen" flag:"--debug" group:"Advanced"`
	Settings           string        `label:"Settings" help:"More settings of Qwen Code, as JSON in the format of its settings.json" type:"text" group:"Advanced"`
}

// Info describes Qwen Code.
func (*Qwen) Info() Info {
	return Info{
		Name:        "qwen",
		Title:       "Qwen Code",
		Summary:     "Open-source coding agent for any model, tuned for Qwen models",
		Homepage:    "https://github.com/QwenLM/qwen-code",
		Image:       "qwen",
		Version:     "0.24.4",
		Dialects:    []Dialect{OpenAIChat, Anthropic, OpenAIResponses, Gemini},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Claude, Option: "output-format", Value: "stream-json"},
		StateDirs:   []string{"~/.qwen/projects"},
		Hosts:       []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"},
		Notes: []string{
			"Asks for no permission, because it runs inside a sandbox; --approval-mode plan or default changes that.",
			"Sends about 18,000 tokens before the prompt.",
			"Does not run with --inference cloud: aibox knows no login to its vendor's cloud that works in a sandbox. Use that cloud's API as a model server, with --inference URL.",
			"Retries a failing model seven times, for over a minute; aibox ends such a run earlier.",
		},
	}
}

// Validate reports settings that are not a JSON object.
func (q *Qwen) Validate() error {
	_, err := q.settings(Inference{})
	return err
}

// printsText reports whether the answer follows a schema, so that programs can read it.
func (q *Qwen) printsText() bool { return q.JSONSchema != "" }

// Meaning returns the meaning of an exit code of Qwen Code.
func (*Qwen) Meaning(code int) string {
	return map[int]string{
		52: "its settings are invalid",
		53: "it reached its turn limit",
		55: "it reached a limit of time or tool calls",
	}[code]
}

// qwenDialect is Qwen Code's configuration of a dialect: its name, the prefix of its
// variables, and the address of the model server.
type qwenDialect struct {
	auth, prefix, baseURL string
	base                  func(Inference) string
}

var qwenDialects = map[Dialect]qwenDialect{
	OpenAIChat:      {"openai", "OPENAI", "OPENAI_BASE_URL", Inference.OpenAI},
	OpenAIResponses: {"openai-responses", "OPENAI", "OPENAI_BASE_URL", Inference.OpenAI},
	Anthropic:       {"anthropic", "ANTHROPIC", "ANTHROPIC_BASE_URL", Inference.Anthropic},
	Gemini:          {"gemini", "GEMINI", "GOOGLE_GEMINI_BASE_URL", Inference.Gemini},
}

// Command is `qwen` with the prompt on its standard input for a headless task, and
// `qwen -i` for an interactive one.
func (q *Qwen) Command(task Task) (Invocation, error) {
	if err := task.check(q.Info()); err != nil {
		return Invocation{}, err
	}
	api, err := task.dialect(q.Info())
	if err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(q, task)
	if err != nil {
		return Invocation{}, err
	}
	settings, err := q.settings(task.Inference)
	if err != nil {
		return Invocation{}, err
	}
	if len(task.MCP) > 0 {
		servers := task.mcpServers(func(s MCPServer) map[string]any {
			server := trustedServer(s)
			server["alwaysLoadTools"] = true // otherwise it hides them until the model searches for them
			return server
		})
		overlay(settings, map[string]any{"mcpServers": servers})
	}
	if q.Bare || q.SafeMode { // it would also omit aibox's instructions
		task.Prompt, task.Instructions = task.instructedPrompt(), ""
	}
	dialect := qwenDialects[api]
	argv := []string{"qwen", "--auth-type", dialect.auth, "--model", task.Inference.Model}
	if q.MaxWallTime > 0 && !task.Interactive {
		argv = append(argv, "--max-wall-time", strconv.Itoa(int(q.MaxWallTime.Seconds()))) // it accepts one unit, not 1m30s
	}
	if q.CoreTools != nil && len(q.CoreTools) == 0 {
		argv = append(argv, "--core-tools=none") // an empty list would mean all
	}
	if task.Resume {
		argv = append(argv, "--continue")
	}
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{
		Argv: argv,
		Env: append([]string{
			dialect.prefix + "_API_KEY=" + task.Inference.Key,
			dialect.baseURL + "=" + dialect.base(task.Inference),
			dialect.prefix + "_MODEL=" + task.Inference.Model,
			"QWEN_CODE_SYSTEM_SETTINGS_PATH=" + qwenSettings,
			"QWEN_CODE_SUPPRESS_YOLO_WARNING=1",
			// A single process: a launcher would leave it running after SIGTERM.
			"QWEN_CODE_NO_RELAUNCH=true",
		}, env...),
		Files: append(task.instructionsFile("~/.qwen/QWEN.md"), File{Path: qwenSettings, Mode: 0o600, Data: encode(settings)}),
	}
	if q.SystemPrompt != "" {
		inv.Env = append(inv.Env, "QWEN_SYSTEM_MD="+qwenSystem)
		inv.Files = append(inv.Files, File{Path: qwenSystem, Mode: 0o600, Data: []byte(q.SystemPrompt)})
	}
	inv = inv.addPrompt(task, "--prompt-interactive=")
	return inv, nil
}

const (
	// qwenSettings override those of the user and of the repository.
	qwenSettings = "/run/aibox/qwen-settings.json"
	qwenSystem   = "/run/aibox/system.md"
)

// settings returns the settings that have no flag: no requests to other hosts, no work
// after the task, the image's ripgrep, and at most one retry where that can be set.
func (q *Qwen) settings(model Inference) (map[string]any, error) {
	generation := map[string]any{"maxRetries": 1, "retryInitialDelayMs": 1000, "retryMaxDelayMs": 2000}
	if model.Context > 0 {
		generation["contextWindowSize"] = model.Context
	}
	if q.RequestTimeout > 0 {
		generation["timeout"] = q.RequestTimeout.Milliseconds()
	}
	chosen := map[string]any{"generationConfig": generation}
	if q.ReasoningEffort != "" {
		chosen["reasoningEffort"] = q.ReasoningEffort
	}
	settings := map[string]any{
		"model":     chosen,
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"general":   map[string]any{"enableAutoUpdate": false, "gitCoAuthor": map[string]any{"commit": false, "pr": false}},
		"memory":    map[string]any{"enableManagedAutoMemory": q.AutoMemory, "enableManagedAutoDream": false},
		"tools":     map[string]any{"sandbox": false, "useBuiltinRipgrep": false},
		"ui":        map[string]any{"enableUserFeedback": false, "enableFollowupSuggestions": false},
	}
	if fast := strings.TrimSpace(q.FastModel); fast != "" {
		settings["fastModel"] = fast
	}
	if err := merge(settings, "settings", q.Settings); err != nil {
		return nil, err
	}
	return settings, nil
}

var qwenPrompts = []Prompt{newPrompt(`^[ │]*› \d+\. `, `Waiting for user confirmation`)}

// Prompts returns Qwen's question: permission for a tool or a change.
func (*Qwen) Prompts() []Prompt { return qwenPrompts }
