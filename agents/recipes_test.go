package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/golden"
	"aibox/internal/secret"
)

// ways returns the ways of running every agent that a golden file shows.
func ways() map[string]Task {
	headless := Task{
		Prompt: `- mend the "test"`, Workdir: "/workspace", Inference: model, Instructions: "# The sandbox\n\nNo network.\n",
	}
	headless.Inference.Context = 32768
	resumed, interactive, again := headless, headless, headless
	resumed.Resume = true
	interactive.Interactive = true
	again.Interactive, again.Resume, again.Prompt = true, true, ""
	return map[string]Task{"headless": headless, "resumed": resumed, "interactive": interactive, "interactive-resumed": again}
}

func TestRecipesWithNoAndAllOptionsMatchTheGoldenFiles(t *testing.T) {
	plain := []Agent{&Aider{}, &Cursor{}, &Crush{}, &Amp{}}
	set := []Agent{
		&Codex{
			Approval: "ask", ReasoningEffort: "high", ReasoningSummary: "concise", Verbosity: "low", Events: true, Picture: []string{"a b.png"},
			OutputSchema: "schema.json", LastMessage: "last.txt", NoAltScreen: true, Config: []string{"a=1"},
			Enable: []string{"x"}, Disable: []string{"y"},
		},
		&OpenCode{
			Agent: "plan", Approval: "ask", Dialect: "openai-responses", SmallModel: "small", ReasoningEffort: "high", Variant: "max", MaxSteps: 7, Thinking: true,
			Format: "json", File: []string{"a b.txt"}, SlashCommand: "review", Title: "a title", Pure: true, PrintLogs: true, LogLevel: "DEBUG",
		},
		&Aider{
			Dialect: "ollama", WeakModel: "small", ReasoningEffort: "high", ThinkingTokens: "8k", Architect: true, EditorModel: "editor",
			EditorEditFormat: "editor-diff", EditFormat: "whole", File: []string{"a b.go", "-c.go"}, Read: []string{"NOTES.md"},
			MapTokens: 2048, SubtreeOnly: true, LintCmd: []string{"python: ruff check", "go vet"}, TestCmd: "make test", AutoTest: true,
			AutoCommits: true, Yes: true, NoStream: true, CachePrompts: true, MaxHistoryTokens: 4096, RequestTimeout: 60,
			ForceModelSetting: true, Verbose: true,
		},
		&Cursor{
			Model: "gpt-5", Mode: "plan", OutputFormat: "stream-json", StreamPartial: true, ApproveMCPs: true,
			Header: []string{"X-Team: a b"}, CursorAPIKey: secret.New("canary"), ResumeChat: "chat-1",
		},
		&Crush{
			SmallModel: "small", ReasoningEffort: "high", MaxTokens: 4096, NoTools: true, DisabledTools: []string{"bash", "fetch"},
			NoSummaries: true, Attribution: true, Verbose: true, Debug: true,
		},
		&Amp{
			Mode: "high", Fast: true, Visibility: "private", StreamJSON: true, StreamThinking: true, Title: "a title",
			Label: []string{"one", "two"}, MCPConfig: "{}", LogLevel: "debug", AmpURL: "https://amp.example/", AmpAPIKey: secret.New("canary"),
		},
	}
	for way, task := range ways() {
		for i, agent := range slices.Concat(plain, set) {
			name := agent.Info().Name + "-" + way
			if i >= len(plain) {
				name = agent.Info().Name + "-set-" + way
			}
			if name := agent.Info().Name; task.Interactive && (name == "aider" || name == "crush") {
				task.Prompt = "" // it is typed on the terminal
			}
			inv, err := agent.Command(task)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			golden.Check(t, name+".golden", show(inv))
		}
	}
}

func TestAgentWithATypedPromptRejectsOneInTerminalMode(t *testing.T) {
	task := ways()["interactive"]
	for _, agent := range []Agent{&Aider{}, &Crush{}} {
		_, err := agent.Command(task)
		if fault.KindOf(err) != fault.Usage || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, want a usage fault with a hint", agent.Info().Name, err)
		}
	}
}

func TestAgentUsesTheModelServersDialect(t *testing.T) {
	for _, test := range []struct {
		agent Agent
		speak Dialect
		want  string
	}{
		{&Aider{}, OpenAIChat, "openai/qwen3:8b"},
		{&Aider{}, Anthropic, "anthropic/qwen3:8b"},
		{&Aider{}, Gemini, "GEMINI_API_BASE=http://10.200.200.1:11434/gemini/v1beta/models/qwen3:8b"},
		{&OpenCode{}, OpenAIChat, `"npm":"@ai-sdk/openai-compatible"`},
		{&OpenCode{}, OpenAIResponses, `"npm":"@ai-sdk/openai"`},
		{&OpenCode{}, Anthropic, `"baseURL":"http://10.200.200.1:11434/anthropic/v1"`},
		{&OpenCode{}, Gemini, `"baseURL":"http://10.200.200.1:11434/gemini/v1beta"`},
		{&Codex{}, OpenAIResponses, `wire_api="responses"`},
		{&Crush{}, OpenAIChat, `"type":"openai-compat"`},
		{&Crush{}, Anthropic, `"base_url":"http://10.200.200.1:11434/anthropic"`},
	} {
		task := ways()["headless"]
		task.Inference.Speaks = []Dialect{test.speak}
		inv, err := test.agent.Command(task)
		if err != nil || !strings.Contains(show(inv), test.want) {
			t.Errorf("%s with %s: %v, %q is missing in\n%s", test.agent.Info().Name, test.speak, err, test.want, show(inv))
		}
		task.Inference.Speaks = []Dialect{NoDialect}
		if _, err := test.agent.Command(task); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s with a server that speaks nothing it does: %v, want a usage fault", test.agent.Info().Name, err)
		}
	}
}

func TestVendorCloudAgentNeedsNoModel(t *testing.T) {
	for _, agent := range Builtin().All() {
		info := agent.Info()
		if info.OwnCloud != (len(info.Dialects) == 0 && info.NeedsPrompt) {
			t.Errorf("%s: own cloud %t with dialects %v", info.Name, info.OwnCloud, info.Dialects)
		}
		if !info.OwnCloud {
			continue
		}
		if len(info.Hosts) == 0 {
			t.Errorf("%s: its hosts are missing", info.Name)
		}
		if _, err := agent.Command(Task{Prompt: "p", Workdir: "/workspace"}); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
		if _, err := agent.Command(Task{Workdir: "/workspace"}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s without a prompt: %v, want a usage fault", info.Name, err)
		}
	}
}

func TestConfigurationsKeepModelNames(t *testing.T) {
	task := ways()["headless"]
	task.Inference.Model = `x","api_key":"$HOME` + "\n"
	for _, agent := range []Agent{&Crush{}, &Aider{}} {
		inv, err := agent.Command(task)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range inv.Files {
			if strings.HasSuffix(file.Path, ".json") && !json.Valid(file.Data) {
				t.Errorf("%s: %s is broken:\n%s", agent.Info().Name, file.Path, file.Data)
			}
			if strings.Contains(string(file.Data), `"api_key":"$HOME`) {
				t.Errorf("%s: a model's name became a setting:\n%s", agent.Info().Name, file.Data)
			}
		}
	}
}
