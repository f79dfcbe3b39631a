package agents

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"aibox/agents/conversation"
	"aibox/internal/fault"
)

// GeminiCLI is Google's Gemini CLI.
type GeminiCLI struct {
	ThinkingLevel      string   `label:"Thinking" help:"How hard the model thinks, if it has levels (Gemini 3)" choices:"minimal low medium high" scope:"repository" group:"Model"`
	ThinkingBudget     int      `label:"Longest thought" help:"Thinking budget in tokens, if the model has one (Gemini 2.5)" min:"1" max:"1000000" scope:"at-most" group:"Model"`
	SmallModel         string   `label:"Small model" help:"Model for summaries, corrections and searches; defaults to Gemini's own choice for Google's models, else the main model" type:"model" group:"Model"`
	ApprovalMode       string   `label:"Approval" help:"What Gemini does without asking, within the limits of the sandbox; headless, it denies what it would ask for" flag:"--approval-mode" choices:"plan default auto_edit yolo" default:"yolo" scope:"at-most" group:"Limits"`
	MaxTurns           int      `label:"Most turns" help:"Number of model answers after which Gemini gives up" min:"1" max:"100000" scope:"at-most" group:"Limits"`
	CoreTools          []string `label:"Tools" help:"Built-in tools that are available, such as run_shell_command and write_file" scope:"at-most" group:"Tools"`
	ExcludeTools       []string `label:"Denied tools" help:"Tools never to use, such as google_web_search" scope:"at-least" group:"Tools"`
	Policy             []string `label:"Policies" help:"Files or folders in the sandbox with rules about tools" flag:"--policy=" group:"Tools"`
	MCPServers         string   `label:"MCP servers" help:"MCP servers, as a JSON object of name and settings" type:"text" group:"Tools"`
	AllowedMCPServers  []string `label:"Allowed MCP servers" help:"Names of the MCP servers to use; all if empty" flag:"--allowed-mcp-server-names=" group:"Tools"`
	Extensions         []string `label:"Extensions" help:"Extensions to use; the name none disables all" flag:"--extensions=" group:"Tools"`
	SystemPrompt       string   `label:"System prompt" help:"Replaces Gemini's own system prompt" type:"text" group:"Prompt"`
	IncludeDirectories []string `label:"More folders" help:"More folders in the sandbox to work in" flag:"--include-directories=" group:"Prompt"`
	OutputFormat       string   `label:"Output" help:"Plain text, one JSON object at the end, or every event as a line of JSON" flag:"--output-format" choices:"text json stream-json" mode:"headless" scope:"repository" group:"Output"`
	ScreenReader       bool     `label:"Screen reader" help:"Print output for screen readers" flag:"--screen-reader" mode:"interactive" group:"Output"`
	Debug              bool     `label:"Debug" help:"Print debug output of Gemini" flag:"--debug" group:"Advanced"`
	Settings           string   `label:"Settings" help:"More settings of Gemini CLI, as JSON in the format of its settings.json" type:"text" group:"Advanced"`
}

// Info describes Gemini CLI.
func (*GeminiCLI) Info() Info {
	return Info{
		Name:        "gemini",
		Title:       "Gemini CLI",
		Summary:     "Google's open-source coding agent",
		Homepage:    "https://geminicli.com",
		Image:       "gemini",
		Version:     "0.61.0",
		Dialects:    []Dialect{Gemini},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Gemini, Option: "output-format", Value: "stream-json"},
		StateDirs:   []string{"~/.gemini/tmp"},
		HasCloud:    true,
		Account:     Account{Variable: "GEMINI_API_KEY", Page: "https://aistudio.google.com/apikey"},
		Hosts:       []string{"generativelanguage.googleapis.com", "oauth2.googleapis.com", "accounts.google.com", "cloudcode-pa.googleapis.com"},
		Notes: []string{
			"Speaks only Gemini's API: the model server must offer /v1beta/models/NAME:generateContent. For your own server, end the URL with /v1beta: --inference http://127.0.0.1:8000/v1beta.",
			"Asks for no permission, because it runs inside a sandbox; --approval-mode plan or default changes that.",
			"Its google_web_search and web_fetch run on the model server. They are off unless inference-tools opens web-search and web-fetch.",
			"Assumes that every model has a context of a million tokens.",
		},
	}
}

// Validate reports settings that are not JSON objects.
func (g *GeminiCLI) Validate() error {
	_, err := g.settings(Task{})
	return err
}

// Meaning returns the meaning of an exit code of Gemini CLI.
func (*GeminiCLI) Meaning(code int) string {
	return map[int]string{
		41: "it could not log in",
		42: "it was given an unknown argument",
		44: "its sandbox failed",
		52: "its settings are invalid",
		53: "it reached its turn limit",
		54: "a tool failed",
		55: "the folder is not trusted",
		// These are HTTP statuses above 255, of which a shell sees only the lower byte.
		145: "the model server refused the key (401)",
		147: "the model server refused the request (403)",
		173: "the model server has had too many requests (429)",
	}[code]
}

// Command is `gemini` with the prompt on its standard input for a headless task,
// and `gemini -i` for an interactive one.
func (g *GeminiCLI) Command(task Task) (Invocation, error) {
	if err := task.check(g.Info()); err != nil {
		return Invocation{}, err
	}
	if err := g.checkTools(task.Inference); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(g, task)
	if err != nil {
		return Invocation{}, err
	}
	settings, err := g.settings(task)
	if err != nil {
		return Invocation{}, err
	}
	argv := append([]string{"gemini"}, task.Inference.modelFlag("--model")...)
	if task.Resume {
		argv = append(argv, "--resume", "latest")
	}
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{
		Argv: argv,
		Env: append(geminiServer(task.Inference), append([]string{
			"GEMINI_CLI_SYSTEM_SETTINGS_PATH=" + geminiSettings,
			// One process: its launcher ignores SIGTERM.
			"GEMINI_CLI_NO_RELAUNCH=true",
		}, env...)...),
		Files: append(task.instructionsFile("~/.gemini/GEMINI.md"), File{Path: geminiSettings, Mode: 0o600, Data: encode(settings)}),
	}
	if g.SystemPrompt != "" {
		inv.Env = append(inv.Env, "GEMINI_SYSTEM_MD="+geminiSystem)
		inv.Files = append(inv.Files, File{Path: geminiSystem, Mode: 0o600, Data: []byte(g.SystemPrompt)})
	}
	inv = inv.addPrompt(task, "--prompt-interactive=")
	return inv, nil
}

// geminiServer returns the variables that name the gateway; none for Google's own servers.
func geminiServer(model Inference) []string {
	if model.Cloud {
		return nil
	}
	return []string{"GEMINI_API_KEY=" + model.Key, "GOOGLE_GEMINI_BASE_URL=" + model.Gemini()}
}

const (
	// geminiSettings override those of the user and of the repository.
	geminiSettings = "/run/aibox/gemini-settings.json"
	geminiSystem   = "/run/aibox/system.md"
)

// settings returns the settings that have no flag: the key without a question, no requests
// to other hosts, and at most one retry of a failed request.
func (g *GeminiCLI) settings(task Task) (map[string]any, error) {
	settings := map[string]any{
		"security": map[string]any{
			"auth":        map[string]any{"selectedType": "gemini-api-key"},
			"folderTrust": map[string]any{"enabled": false},
		},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"general": map[string]any{
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
			"maxAttempts": 2, "retryFetchErrors": false,
		},
		"ui": map[string]any{"showCompatibilityWarnings": false, "hideTips": true},
	}
	if !task.Inference.Cloud {
		settings["modelConfigs"] = map[string]any{"customOverrides": g.overrides(task.Inference.Model)}
	}
	if g.MaxTurns > 0 {
		settings["model"] = map[string]any{"maxSessionTurns": g.MaxTurns}
	}
	tools := map[string]any{"sandbox": false}
	if g.CoreTools != nil {
		tools["core"] = g.CoreTools
	}
	if len(g.ExcludeTools) > 0 {
		tools["exclude"] = g.ExcludeTools
	}
	settings["tools"] = tools
	if err := merge(settings, "settings", g.Settings); err != nil {
		return nil, err
	}
	excludeGeminiTools(settings, task.Inference)
	servers := task.mcpServers(trustedServer)
	if err := merge(servers, "mcp-servers", g.MCPServers); err != nil {
		return nil, err
	}
	if len(servers) > 0 {
		settings["mcpServers"] = servers
	}
	return settings, nil
}

// geminiServerTools are the tools of Gemini CLI that run on the model's server.
var geminiServerTools = []struct{ name, kind string }{
	{"google_web_search", webSearch},
	{"web_fetch", webFetch},
}

// checkTools refuses options that select a tool which the gateway refuses.
func (g *GeminiCLI) checkTools(model Inference) error {
	for _, tool := range geminiServerTools {
		if err := model.needsOpen("core-tools", tool.kind, g.CoreTools, tool.name); err != nil {
			return err
		}
	}
	return nil
}

// excludeGeminiTools adds the tools that are not open to the excluded ones, in whichever
// setting excludes tools.
func excludeGeminiTools(settings map[string]any, model Inference) {
	tools, ok := settings["tools"].(map[string]any)
	if !ok { // the user's settings have replaced it
		tools = map[string]any{}
		settings["tools"] = tools
	}
	var excluded []any
	switch list := tools["exclude"].(type) {
	case []string:
		for _, name := range list {
			excluded = append(excluded, name)
		}
	case []any:
		excluded = list
	}
	for _, tool := range geminiServerTools {
		if !model.opens(tool.kind) && !slices.Contains(excluded, any(tool.name)) {
			excluded = append(excluded, tool.name)
		}
	}
	if len(excluded) > 0 {
		tools["exclude"] = excluded
	}
}

// overrides select the model for tasks for which Gemini would use Google's models, and how
// much the chosen model thinks. Each of these settings extends the one that it names as its
// base.
func (g *GeminiCLI) overrides(model string) []any {
	overrides := []any{}
	small := g.SmallModel
	if small == "" && !strings.HasPrefix(model, "gemini") {
		small = model
	}
	if small != "" {
		overrides = append(overrides, geminiOverride("base", map[string]any{"model": small}))
	}
	chosen := map[string]any{"model": model}
	thinking := map[string]any{}
	switch {
	case g.ThinkingLevel != "":
		thinking["thinkingLevel"] = strings.ToUpper(g.ThinkingLevel)
	case g.ThinkingBudget > 0:
		thinking["thinkingBudget"] = g.ThinkingBudget
	}
	if len(thinking) > 0 {
		chosen["generateContentConfig"] = map[string]any{"thinkingConfig": thinking}
	}
	return append(overrides, geminiOverride(model, chosen))
}

func geminiOverride(model string, config map[string]any) map[string]any {
	return map[string]any{"match": map[string]any{"model": model}, "modelConfig": config}
}

// merge merges a JSON object from an option of the user into settings. Objects in both are
// merged; any other value is replaced.
func merge(settings map[string]any, option, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var more map[string]any
	err := json.Unmarshal([]byte(text), &more)
	if err == nil && more == nil {
		err = errors.New("null is none")
	}
	if err != nil {
		return fault.New(fault.Usage, "option %q must be a JSON object: %w", option, err).
			Hint(`write it as {"name": value}`)
	}
	overlay(settings, more)
	return nil
}

func overlay(settings, more map[string]any) {
	for name, value := range more {
		below, ok := settings[name].(map[string]any)
		if above, both := value.(map[string]any); ok && both {
			overlay(below, above)
			continue
		}
		settings[name] = value
	}
}

var geminiPrompts = []Prompt{newPrompt(`^ *│ *● \d+\. `)}

// Prompts returns Gemini's questions: permission for a tool or a change, and trust.
func (*GeminiCLI) Prompts() []Prompt { return geminiPrompts }
