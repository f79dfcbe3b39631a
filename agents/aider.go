package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// Aider is the pair programmer of aider.chat. It edits files from the model's text,
// without tools, and speaks any dialect through its library litellm.
type Aider struct {
	Dialect           string   `label:"Dialect" help:"API that Aider uses to talk to the model server, if its default is not the best" choices:"openai anthropic gemini ollama" group:"Model"`
	WeakModel         string   `label:"Weak model" help:"Model for commit messages and summaries; defaults to the main model" type:"model" group:"Model"`
	ReasoningEffort   string   `label:"Reasoning effort" help:"How hard the model thinks, if it supports that" flag:"--reasoning-effort" choices:"none minimal low medium high xhigh" group:"Model"`
	ThinkingTokens    string   `label:"Thinking tokens" help:"Thinking budget, such as 8k, if the model has one" flag:"--thinking-tokens=" group:"Model"`
	Architect         bool     `label:"Architect mode" help:"Let the model plan first, and an editor model write the changes" flag:"--architect" group:"Editing"`
	EditorModel       string   `label:"Editor model" help:"Model that writes what the architect planned; defaults to the main model" type:"model" when:"architect" group:"Editing"`
	EditorEditFormat  string   `label:"Editor's edit format" help:"Format of the editor model's changes" flag:"--editor-edit-format" choices:"editor-whole editor-diff editor-diff-fenced" when:"architect" group:"Editing"`
	EditFormat        string   `label:"Edit format" help:"Format of the model's changes; ask changes nothing" flag:"--edit-format" choices:"whole diff diff-fenced udiff patch ask" when:"architect!=true" group:"Editing"`
	File              []string `label:"Files" help:"Files to work on from the start" flag:"--file=" group:"Editing"`
	Read              []string `label:"Read-only files" help:"Files to read but not change" flag:"--read=" group:"Editing"`
	NoMap             bool     `label:"No repository map" help:"Do not send a map of the repository's symbols" flag:"--map-tokens=0" group:"Editing"`
	MapTokens         int      `label:"Map tokens" help:"Size of the repository map, in tokens" flag:"--map-tokens" min:"1" max:"1000000" when:"no-map!=true" group:"Editing"`
	SubtreeOnly       bool     `label:"This folder only" help:"Ignore the rest of the repository" flag:"--subtree-only" group:"Editing"`
	LintCmd           []string `label:"Lint commands" help:"Commands that check changed files, such as python: ruff check" flag:"--lint-cmd=" when:"no-lint!=true" group:"Checks"`
	NoLint            bool     `label:"No linting" help:"Do not check changed files" flag:"--no-auto-lint" group:"Checks"`
	TestCmd           string   `label:"Test command" help:"Command that runs the tests" flag:"--test-cmd=" group:"Checks"`
	AutoTest          bool     `label:"Test after changes" help:"Run the tests after each change, and fix what they find" flag:"--auto-test" when:"test-cmd" group:"Checks"`
	AutoCommits       bool     `label:"Commit" help:"Commit each change in the sandbox; aibox collects changes either way" flag:"--auto-commits" group:"Git"`
	Yes               bool     `label:"Yes to all" help:"Answer every question with yes" flag:"--yes-always" mode:"interactive" group:"Advanced"`
	NoStream          bool     `label:"No streaming" help:"Wait for whole answers" flag:"--no-stream" group:"Advanced"`
	CachePrompts      bool     `label:"Cache prompts" help:"Use the model server's prompt cache, if it has one" flag:"--cache-prompts" group:"Advanced"`
	MaxHistoryTokens  int      `label:"History tokens" help:"Summarize the conversation when it exceeds this" flag:"--max-chat-history-tokens" min:"1" max:"10000000" group:"Advanced"`
	RequestTimeout    int      `label:"Request timeout" help:"Timeout of one request to the model, in seconds" flag:"--timeout" min:"1" max:"86400" group:"Advanced"`
	ForceModelSetting bool     `label:"Send every setting" help:"Send reasoning effort and thinking tokens even if the model is not known to support them" flag:"--no-check-model-accepts-settings" group:"Model"`
	Verbose           bool     `label:"Verbose" help:"Print more about what Aider does" flag:"--verbose" group:"Advanced"`
}

// Info describes Aider.
func (*Aider) Info() Info {
	return Info{
		Name:        "aider",
		Title:       "Aider",
		Summary:     "Pair programmer that edits files from the model's text, so the model needs no tool support",
		Homepage:    "https://aider.chat",
		Image:       "aider",
		Version:     "0.86.1",
		Dialects:    []Dialect{OpenAIChat, Anthropic, Gemini},
		NeedsPrompt: true,
		StateDirs:   []string{"~/.aider/history"},
		Scratch:     []string{".aider.tags.cache.v*"},
		Hosts:       []string{"raw.githubusercontent.com"},
		Notes: []string{
			"Exits with 0 even if the model server refuses its key, so aibox judges by the model's answers and by the changes.",
			"Runs only the commands given with --lint-cmd and --test-cmd.",
			"In a sparse checkout it reports that it cannot read staged files, and continues: versions of its library GitPython before November 2025 do not know git's marks for such files.",
			"Resumes from a text history, so it reads a resumed conversation again and does not remember all of it.",
		},
	}
}

// Command is `aider`, with the prompt in a file when it is headless.
func (a *Aider) Command(task Task) (Invocation, error) {
	if err := task.check(a.Info()); err != nil {
		return Invocation{}, err
	}
	if err := task.refusePrompt(a.Info()); err != nil {
		return Invocation{}, err
	}
	dialect, err := task.dialect(a.Info())
	if err != nil {
		return Invocation{}, err
	}
	extra, env, err := options(a, task)
	if err != nil {
		return Invocation{}, err
	}
	provider := aiderProviders[dialect]
	if a.Dialect != "" {
		provider = litellmCalled(a.Dialect)
	}
	argv := append([]string{"aider"}, a.models(provider.prefix, task.Inference.Model)...)
	argv = append(argv, aiderQuiet...)
	if !a.AutoCommits {
		argv = append(argv, "--no-auto-commits", "--no-dirty-commits")
	}
	argv = append(argv, aiderHistory(task)...)
	files := []File{{Path: aiderPrices, Mode: 0o600, Data: []byte(`{"known": {}}`)}}
	if metadata := aiderMetadata(provider.prefix, task.Inference); len(metadata) > 0 {
		argv, files = append(argv, "--model-metadata-file", aiderModels), append(files, metadata...)
	}
	if task.Instructions != "" {
		argv = append(argv, "--read", instructionsPath)
		files = append(files, task.instructionsFile(instructionsPath)...)
	}
	argv = append(append(argv, extra...), task.Args...)
	inv := Invocation{Env: append(append(provider.env(task.Inference), "LITELLM_LOCAL_MODEL_COST_MAP=True"), env...), Files: files}
	if task.Interactive {
		inv.Argv = argv
		return inv, nil
	}
	inv.Env = append(inv.Env, "NO_COLOR=1")
	inv.Files = append(inv.Files, File{Path: promptPath, Mode: 0o600, Data: []byte(task.Prompt)})
	// A question without an answer would wait on an open input.
	inv.Argv, _ = withPrompt(append(argv, "--yes-always", "--no-pretty", "--no-fancy-input", "--no-suggest-shell-commands", "--message-file", promptPath), "")
	return inv, nil
}

// aiderQuiet turns off everything that would contact other hosts or write into the repository.
var aiderQuiet = []string{
	"--no-check-update", "--no-show-release-notes", "--analytics-disable",
	"--no-show-model-warnings", "--no-gitignore", "--no-detect-urls",
}

// aiderHistory keeps the conversation outside the repository.
func aiderHistory(task Task) []string {
	folder := Home + "/.aider/history/"
	argv := []string{"--chat-history-file", folder + "chat.md", "--input-history-file", folder + "input"}
	if task.Resume {
		argv = append(argv, "--restore-chat-history")
	}
	return argv
}

// models returns the models under litellm's names, with the provider before the name.
// Without a weak model Aider would request one of OpenAI's.
func (a *Aider) models(prefix, main string) []string {
	argv := []string{"--model", prefix + main, "--weak-model", prefix + cmp.Or(a.WeakModel, main)}
	if a.Architect && a.EditorModel != "" {
		argv = append(argv, "--editor-model", prefix+a.EditorModel)
	}
	return argv
}

// litellm describes how Aider's library finds a model server.
type litellm struct {
	prefix, name string // before a model's name, and in the names of variables
	base         func(Inference) string
}

func (p litellm) env(model Inference) []string {
	return []string{p.name + "_API_KEY=" + model.Key, p.name + "_API_BASE=" + p.base(model)}
}

var (
	litellmOpenAI    = litellm{"openai/", "OPENAI", Inference.OpenAI}
	litellmAnthropic = litellm{"anthropic/", "ANTHROPIC", Inference.Anthropic}
	litellmOllama    = litellm{"ollama_chat/", "OLLAMA", Inference.Ollama}
	// litellm adds only the method to Gemini's base.
	litellmGemini = litellm{"gemini/", "GEMINI", func(i Inference) string { return i.Gemini() + "/v1beta/models/" + i.Model }}
)

var aiderProviders = map[Dialect]litellm{
	OpenAIChat: litellmOpenAI, Anthropic: litellmAnthropic, Gemini: litellmGemini,
}

// litellmCalled returns LiteLLM's provider for the option Dialect.
func litellmCalled(name string) litellm {
	for _, provider := range []litellm{litellmAnthropic, litellmGemini, litellmOllama} {
		if strings.EqualFold(provider.name, name) {
			return provider
		}
	}
	return litellmOpenAI
}

// aiderPrices is Aider's cache of model prices. Without it, or if it is empty, Aider
// downloads the list from GitHub at every start, and retries if that fails. Its library
// litellm uses its built-in list if LITELLM_LOCAL_MODEL_COST_MAP is set.
const aiderPrices = "~/.aider/caches/model_prices_and_context_window.json"

// aiderModels is the file from which Aider reads facts about models that it does not know.
const aiderModels = "/run/aibox/aider-models.json"

// aiderMetadata returns the model's context size, which determines the size of the
// repository map and of summaries; nothing if it is unknown.
func aiderMetadata(prefix string, model Inference) []File {
	if model.Context == 0 {
		return nil
	}
	provider := strings.TrimSuffix(prefix, "/")
	known := map[string]any{"max_input_tokens": model.Context, "litellm_provider": provider, "mode": "chat"}
	text, err := json.Marshal(map[string]any{prefix + model.Model: known})
	if err != nil {
		panic(fmt.Sprintf("strings and numbers always encode: %v", err))
	}
	return []File{{Path: aiderModels, Mode: 0o600, Data: text}}
}

// A narrow terminal wraps the question at any character, and its rows lack the spaces at
// their ends. An empty answer, which is the default, leaves the last row unchanged.
var aiderPrompts = []Prompt{
	newPrompt(`\(Y\)es/\(N\)o(/\(A\)ll)?(/\(S\)kip ?all)?(/\(D\)on't ?ask ?again)? ?\[\S+\]: ?$`).wrapped(),
}

// Prompts returns Aider's question. It does not match once an answer follows it.
func (*Aider) Prompts() []Prompt { return aiderPrompts }
