package agents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/agents/conversation"
	"aibox/internal/fault"
)

// Codex is OpenAI's Codex CLI. It speaks OpenAI's Responses dialect only.
type Codex struct {
	Approval         string   `label:"Approval" help:"Whether Codex asks before a command that it considers dangerous, such as rm -rf" choices:"ask auto" default:"auto" mode:"interactive"`
	ReasoningEffort  string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" flag:"-c model_reasoning_effort=" choices:"none minimal low medium high xhigh"`
	ReasoningSummary string   `label:"Reasoning summary" help:"How detailed the summary of the model's thinking is" flag:"-c model_reasoning_summary=" choices:"auto concise detailed none"`
	Verbosity        string   `label:"Verbosity" help:"How long answers are, if the model supports that" flag:"-c model_verbosity=" choices:"low medium high"`
	Events           bool     `label:"JSON events" help:"Print every event as a line of JSON" flag:"--json" mode:"headless" group:"Output"`
	Picture          []string `label:"Pictures" help:"Pictures in the sandbox to show with the prompt" flag:"--image=" group:"Input"`
	OutputSchema     string   `label:"Output schema" help:"JSON schema file in the sandbox for the last answer" flag:"--output-schema" mode:"headless" group:"Output"`
	LastMessage      string   `label:"Last message" help:"File in the sandbox for the last answer" flag:"--output-last-message" mode:"headless" group:"Output"`
	NoAltScreen      bool     `label:"Scroll" help:"Keep the output in the terminal's own scrollback" flag:"--no-alt-screen" mode:"interactive" group:"Output"`
	Config           []string `label:"Settings" help:"Settings of Codex itself, as key=value in TOML" flag:"-c" group:"Advanced"`
	Enable           []string `label:"Features on" help:"Features of Codex to turn on" flag:"--enable" group:"Advanced"`
	Disable          []string `label:"Features off" help:"Features of Codex to turn off" flag:"--disable" group:"Advanced"`
}

// Info describes Codex.
func (*Codex) Info() Info {
	return Info{
		Name:        "codex",
		Title:       "Codex",
		Summary:     "OpenAI's coding agent: starts quickly, a single native program",
		Homepage:    "https://github.com/openai/codex",
		Image:       "codex",
		Version:     "0.169.0",
		Dialects:    []Dialect{OpenAIResponses},
		NeedsPrompt: true,
		Events:      Events{Format: conversation.Codex, Option: "events", Value: "true"},
		StateDirs:   []string{"~/.codex/sessions"},
		HasCloud:    true,
		Account: Account{
			Variable: "CODEX_API_KEY", Page: "https://platform.openai.com/api-keys",
			Limit: "Codex reads it only in headless runs; on a terminal it asks you to log in.",
		},
		Hosts: []string{"api.openai.com", "chatgpt.com", "auth.openai.com"},
		Notes: []string{
			"Speaks only OpenAI's Responses API: the model server must offer /v1/responses.",
			"Its own sandbox is off, because aibox provides one. With --approval ask it therefore asks only before commands that it considers dangerous.",
			"Its web search runs on the model server. It is off unless inference-tools opens web-search.",
		},
	}
}

// Command is `codex exec` for a headless task and `codex` for an interactive one.
func (c *Codex) Command(task Task) (Invocation, error) {
	if err := task.check(c.Info()); err != nil {
		return Invocation{}, err
	}
	if n := utf8.RuneCountInString(task.Prompt); n > codexPromptLimit {
		return Invocation{}, fault.New(fault.Usage, "Codex accepts prompts of at most %d characters; this one has %d", codexPromptLimit, n).
			Hint("put the text into a file of the repository and name the file in the prompt")
	}
	if err := c.checkSearch(task.Inference); err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(c, task)
	if err != nil {
		return Invocation{}, err
	}
	flags := append(c.flags(task), extra...)
	if !task.Inference.Cloud {
		env = append([]string{codexKey + "=" + task.Inference.Key}, env...)
	}
	if task.Interactive {
		return codexInteractive(task, flags, env), nil
	}
	argv := append([]string{"codex", "exec", "--skip-git-repo-check"}, flags...)
	argv = append(argv, task.Args...)
	if task.Resume {
		argv = append(argv, "resume", "--last")
	}
	inv := Invocation{Argv: append(argv, "-"), Env: env, Files: task.instructionsFile(codexInstructions)}
	return inv.addPrompt(task, "--"), nil
}

// printsText reports whether the answer follows a schema, so that programs can read it.
func (c *Codex) printsText() bool { return c.OutputSchema != "" }

// codexPromptLimit is the maximum number of characters that Codex accepts.
const codexPromptLimit = 1 << 20

// codexInstructions is the file of standing instructions that Codex reads.
const codexInstructions = "~/.codex/AGENTS.md"

// codexKey is the variable from which Codex takes the placeholder key.
const codexKey = "AIBOX_API_KEY"

func codexInteractive(task Task, flags, env []string) Invocation {
	argv := []string{"codex"}
	if task.Resume {
		argv = append(argv, "resume", "--last")
	}
	var trusted []string
	for _, folder := range task.trusted() {
		trusted = append(trusted, strconv.Quote(folder)+"={trust_level=\"trusted\"}")
	}
	// Without --no-daemon Codex ignores the answer about trust and asks.
	argv = append(argv, "--no-daemon", "-c",
		"projects={"+strings.Join(trusted, ", ")+"}")
	argv = append(append(argv, flags...), task.Args...)
	inv := Invocation{Argv: argv, Env: env, Files: task.instructionsFile(codexInstructions)}
	return inv.addPrompt(task, "--")
}

// flags select the model and turn off requests to other hosts. By default, Codex retries a
// dead model for 25 s. With these flags it reports it within five, and still waits three
// times for a busy one.
func (c *Codex) flags(task Task) []string {
	provider := fmt.Sprintf(`model_providers.aibox={name="aibox",base_url=%s,env_key="%s",wire_api="responses",request_max_retries=1,stream_max_retries=3}`,
		strconv.Quote(task.Inference.OpenAI()), codexKey)
	flags := []string{"--dangerously-bypass-approvals-and-sandbox"}
	if task.Interactive && c.Approval == "ask" {
		// Without its own sandbox, this version asks only before commands that it considers
		// dangerous. approval_policy=untrusted, which asked before every command, no longer
		// exists. Its sandbox cannot start with the capabilities of aibox's sandbox, so every
		// command would fail.
		flags = []string{"--sandbox", "danger-full-access", "--ask-for-approval", "on-request"}
	}
	if !task.Inference.Cloud {
		flags = append(flags, "-c", "model_provider=aibox", "-c", provider)
	}
	flags = append(flags,
		"-c", "analytics.enabled=false",
		"-c", "check_for_update_on_startup=false",
		"--disable", "plugins",
	)
	flags = append(flags, task.Inference.modelFlag("-m")...)
	search := "disabled" // its default sends the tool with every request
	if task.Inference.opens(webSearch) {
		search = "live"
	}
	flags = append(flags, "-c", fmt.Sprintf("web_search=%q", search))
	for _, server := range task.MCP {
		flags = append(flags, "-c", fmt.Sprintf("mcp_servers.%s={url=%s,tool_timeout_sec=%d}", server.Name, strconv.Quote(server.URL), mcpTimeout/time.Second))
	}
	if task.Inference.Context > 0 {
		flags = append(flags, "-c", fmt.Sprintf("model_context_window=%d", task.Inference.Context))
	}
	return flags
}

// checkSearch refuses settings of Codex that turn on a tool which the gateway refuses.
func (c *Codex) checkSearch(model Inference) error {
	if model.opens(webSearch) {
		return nil
	}
	for _, setting := range c.Config {
		key, value, _ := strings.Cut(setting, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		if (key == "web_search" || key == "tools.web_search") && value != "disabled" && value != "false" {
			return closedTool("config", key, webSearch)
		}
	}
	if slices.Contains(c.Enable, "web_search_request") || slices.Contains(c.Enable, "web_search_cached") {
		return closedTool("enable", "web search", webSearch)
	}
	return nil
}

// The last one is for questions of the model.
var codexPrompts = []Prompt{
	newPrompt(`^ *› \d+\. `, `Press .* to confirm`),
	newPrompt(`enter to submit (answer|all)`),
}

// Prompts returns Codex's questions: permission for a command or a change, trust in a
// folder, and questions of the model.
func (*Codex) Prompts() []Prompt { return codexPrompts }
