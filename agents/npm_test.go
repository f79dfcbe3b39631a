package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/golden"
)

// npmAgents are Claude Code, Gemini CLI, Qwen Code and Copilot CLI with their
// defaults.
func npmAgents(t *testing.T) []Agent {
	t.Helper()
	all := []Agent{&Claude{}, &GeminiCLI{}, &Qwen{}, &Copilot{}}
	for _, agent := range all {
		if err := spec.Defaults(agent); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestRecipesOfNpmAgentsMatchTheGoldenFile(t *testing.T) {
	set := []Agent{
		&Claude{
			Effort: "high", FallbackModel: "other", SmallModel: "small", SubagentModel: "sub", MaxOutputTokens: 4096, MaxThinkingTokens: 2048,
			PermissionMode: "acceptEdits", MaxTurns: 7, MaxBudget: 3, Tools: []string{"Bash", "Edit"}, AllowedTools: []string{"Bash(git *)"},
			DisallowedTools: []string{"WebFetch"}, MCPConfig: []string{"/a b.json"}, StrictMCPConfig: true, Agent: "reviewer", Agents: "{}",
			SystemPrompt: "You are terse.", AppendSystemPrompt: "Say no more.", AddDir: []string{"/more"}, OutputFormat: "stream-json",
			PartialMessages: true, JSONSchema: `{"type":"object"}`, Name: "work", Settings: "{}", SettingSources: []string{"user", "local"},
			SafeMode: true, Bare: true, Debug: true,
		},
		&GeminiCLI{
			ThinkingLevel: "low", SmallModel: "small", ApprovalMode: "auto_edit", MaxTurns: 7, CoreTools: []string{"write_file"},
			ExcludeTools: []string{"google_web_search"}, Policy: []string{"/p.toml"}, MCPServers: `{"s":{"command":"x"}}`,
			AllowedMCPServers: []string{"s"}, Extensions: []string{"none"}, SystemPrompt: "You are terse.",
			IncludeDirectories: []string{"/more"}, OutputFormat: "json", ScreenReader: true, Debug: true,
			Settings: `{"general":{"maxAttempts":1},"ui":{"theme":"Dracula"}}`,
		},
		&Qwen{
			ReasoningEffort: "high", FallbackModel: []string{"other"}, FastModel: "small", MaxOutputTokens: 4096, RequestTimeout: time.Minute,
			ApprovalMode: "plan", MaxTurns: 7, MaxToolCalls: 9, MaxWallTime: 90 * time.Second, MaxSubagentDepth: 1,
			CoreTools: []string{"read_file"}, AllowedTools: []string{"read_file"}, ExcludeTools: []string{"agent"}, MCPConfig: "{}",
			AllowedMCPServers: []string{"s"}, Extensions: []string{"none"}, SystemPrompt: "You are terse.", AppendSystemPrompt: "Say no more.",
			OutputStyle: "Concise", IncludeDirectories: []string{"/more"}, AutoMemory: true, OutputFormat: "stream-json", PartialMessages: true,
			JSONSchema: `{"type":"object"}`, ScreenReader: true, Bare: true, SafeMode: true, Debug: true, Settings: `{"ui":{"theme":"GitHub"}}`,
		},
		&Copilot{
			ReasoningEffort: "high", MaxOutputTokens: 4096, KnownModel: "gpt-5.4", Permissions: "ask", Mode: "autopilot", MaxAutopilotContinues: 3,
			AskUser: true, AllowTool: []string{"shell(git:*)"}, DenyTool: []string{"shell(git push)"}, AvailableTools: []string{"bash"},
			ExcludedTools: []string{"sql"}, AllowURL: []string{"a.example"}, DenyURL: []string{"b.example"}, AddDir: []string{"/more"},
			MCPConfig: []string{"@/m.json"}, DisableMCPServer: []string{"s"}, Agent: "reviewer", NoCustomInstructions: true,
			Attachment: []string{"/p.png"}, OutputFormat: "json", Stats: true, Stream: "off", ScreenReader: true, Name: "work",
			LogLevel: "debug", Experimental: true, PluginDir: []string{"/plugins"},
		},
	}
	plain := npmAgents(t)
	for way, task := range ways() {
		for i, agent := range slices.Concat(plain, set) {
			name := agent.Info().Name + "-" + way
			if i >= len(plain) {
				name = agent.Info().Name + "-set-" + way
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

// No file that is written before the start may be in a place that a mounted folder of the
// session hides.
func TestAgentFilesAreOutsideItsConversations(t *testing.T) {
	for _, agent := range npmAgents(t) {
		for way, task := range ways() {
			inv, err := agent.Command(task)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range inv.Files {
				for _, folder := range agent.Info().StateDirs {
					if strings.HasPrefix(file.Path+"/", folder+"/") || strings.HasPrefix(folder+"/", file.Path+"/") {
						t.Errorf("%s, %s: %s meets the folder %s", agent.Info().Name, way, file.Path, folder)
					}
				}
			}
		}
	}
}

func TestNpmAgentAcceptsAPromptOfAnySize(t *testing.T) {
	prompt := strings.Repeat("x", 1<<20)
	for _, agent := range npmAgents(t) {
		for _, interactive := range []bool{false, true} {
			inv, err := agent.Command(Task{Prompt: prompt, Interactive: interactive, Workdir: "/workspace", Inference: model, Instructions: prompt})
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range append(inv.Argv, inv.Env...) {
				if len(word) > 128<<10 {
					t.Errorf("%s, interactive %t: a word of %d bytes", agent.Info().Name, interactive, len(word))
				}
			}
			whole := slices.ContainsFunc(inv.Files, func(f File) bool { return f.Path == promptPath && string(f.Data) == prompt && f.Mode == 0o600 })
			if !whole {
				t.Errorf("%s, interactive %t: the prompt is in no file", agent.Info().Name, interactive)
			}
		}
	}
}

func TestNpmAgentUsesTheServersDialect(t *testing.T) {
	for _, test := range []struct {
		agent   Agent
		speaks  Dialect
		want    []string // words or variables
		refused bool
	}{
		{agent: &Claude{}, speaks: Anthropic, want: []string{"ANTHROPIC_BASE_URL=" + model.Anthropic()}},
		{agent: &Claude{}, speaks: OpenAIChat, refused: true},
		{agent: &GeminiCLI{}, speaks: Gemini, want: []string{"GOOGLE_GEMINI_BASE_URL=" + model.Gemini()}},
		{agent: &GeminiCLI{}, speaks: Anthropic, refused: true},
		{agent: &Qwen{}, speaks: OpenAIChat, want: []string{"openai", "OPENAI_BASE_URL=" + model.OpenAI()}},
		{agent: &Qwen{}, speaks: OpenAIResponses, want: []string{"openai-responses", "OPENAI_BASE_URL=" + model.OpenAI()}},
		{agent: &Qwen{}, speaks: Anthropic, want: []string{"anthropic", "ANTHROPIC_BASE_URL=" + model.Anthropic(), "ANTHROPIC_API_KEY=" + model.Key}},
		{agent: &Qwen{}, speaks: Gemini, want: []string{"gemini", "GOOGLE_GEMINI_BASE_URL=" + model.Gemini(), "GEMINI_API_KEY=" + model.Key}},
		{agent: &Copilot{}, speaks: OpenAIChat, want: []string{"COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_WIRE_API=completions"}},
		{agent: &Copilot{}, speaks: OpenAIResponses, want: []string{"COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_WIRE_API=responses"}},
		{agent: &Copilot{}, speaks: Anthropic, want: []string{"COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL=" + model.Anthropic()}},
		{agent: &Copilot{}, speaks: Gemini, refused: true},
	} {
		task := Task{Prompt: "p", Workdir: "/workspace", Inference: model}
		task.Inference.Speaks = []Dialect{test.speaks}
		inv, err := test.agent.Command(task)
		if test.refused {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%T, %v: %v, want a usage fault", test.agent, test.speaks, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !slices.Contains(append(inv.Argv, inv.Env...), want) {
				t.Errorf("%T, %v: no %q", test.agent, test.speaks, want)
			}
		}
	}
}

// Claude stores the last 20 characters of a key that the user has allowed.
func TestClaudeConfigurationApprovesItsKey(t *testing.T) {
	for key, want := range map[string]string{"aibox-0123456789abcdef0123456789abcdef": "cdef0123456789abcdef", "short": "short"} {
		task := Task{Interactive: true, Workdir: "/workspace", Inference: model}
		task.Inference.Key = key
		inv, err := (&Claude{}).Command(task)
		if err != nil {
			t.Fatal(err)
		}
		var state struct {
			Keys struct{ Approved []string } `json:"customApiKeyResponses"`
		}
		at := slices.IndexFunc(inv.Files, func(f File) bool { return f.Path == "~/.claude.json" })
		if err := json.Unmarshal(inv.Files[at].Data, &state); err != nil || !slices.Equal(state.Keys.Approved, []string{want}) {
			t.Errorf("%q: %v, %v", key, state.Keys.Approved, err)
		}
	}
}

func TestEmptyToolListMeansNoTools(t *testing.T) {
	task := Task{Prompt: "p", Workdir: "/workspace", Inference: model}
	for _, test := range []struct {
		agent Agent
		want  string
	}{
		{&Claude{Tools: []string{}}, "argv --tools=\n"},
		{&GeminiCLI{CoreTools: []string{}}, `"core":[]`},
		{&Qwen{CoreTools: []string{}}, "argv --core-tools=none\n"},
		{&Copilot{AvailableTools: []string{}}, "argv --available-tools=none\n"},
	} {
		inv, err := test.agent.Command(task)
		if err != nil {
			t.Fatal(err)
		}
		if text := show(inv); !strings.Contains(text, test.want) {
			t.Errorf("%T: no %q in\n%s", test.agent, test.want, text)
		}
	}
}

func TestSettingsMustBeAJSONObject(t *testing.T) {
	for option, agent := range map[string]Agent{
		`"settings"`: &GeminiCLI{Settings: "{"}, `"mcp-servers"`: &GeminiCLI{MCPServers: "[]"}, `option "settings"`: &Qwen{Settings: "null"},
	} {
		err := spec.Validate(agent)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), option) {
			t.Errorf("%T: %v, want a usage fault about %s", agent, err, option)
		}
	}
}

func TestUserSettingsOverrideAiboxSettings(t *testing.T) {
	settings, err := (&GeminiCLI{Settings: `{"general":{"maxAttempts":1},"ui":7}`}).settings(Task{})
	if err != nil {
		t.Fatal(err)
	}
	general, ok := settings["general"].(map[string]any)
	if !ok || general["maxAttempts"] != 1.0 || general["enableAutoUpdate"] != false || settings["ui"] != 7.0 {
		t.Errorf("%v", settings)
	}
}

// An agent that reads no instruction files gets its limits in the prompt.
func TestLimitsAreInThePromptOfAnAgentWithoutInstructions(t *testing.T) {
	task := ways()["headless"]
	for _, agent := range []Agent{&Qwen{Bare: true}, &Qwen{SafeMode: true}, &Copilot{NoCustomInstructions: true}, &Claude{Bare: true}, &Claude{SafeMode: true}} {
		inv, err := agent.Command(task)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range inv.Files {
			hasLimits := strings.Contains(string(file.Data), task.Instructions[:9])
			if hasLimits != (file.Path == promptPath) && hasLimits != (file.Path == instructionsPath) {
				t.Errorf("%+v: %s holds\n%s", agent, file.Path, file.Data)
			}
		}
	}
}
