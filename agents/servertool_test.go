package agents

import (
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
)

// words returns everything that an agent gets from an invocation.
func wordsOf(t *testing.T, agent Agent, tools ...string) string {
	t.Helper()
	inv, err := agent.Command(Task{Prompt: "go", Workdir: "/workspace", Inference: Inference{BaseURL: "http://10.200.200.1:11434", Key: "k", Model: "gemini-2.5-pro", ServerTools: tools}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(append(inv.Argv, inv.Env...), "\n")
	for _, file := range inv.Files {
		text += "\n" + string(file.Data)
	}
	return text
}

// A tool that the gateway would refuse is not offered, so that no turn is spent on it.
func TestAgentsOfferServerToolsOnlyWhenAllowed(t *testing.T) {
	for name, test := range map[string]struct {
		agent func() Agent
		kind  string
		off   string // the setting that turns it off
	}{
		"codex":        {func() Agent { return &Codex{} }, webSearch, `web_search="disabled"`},
		"claude":       {func() Agent { return &Claude{} }, webSearch, "--disallowed-tools=WebSearch"},
		"gemini":       {func() Agent { return &GeminiCLI{} }, webSearch, `"google_web_search"`},
		"gemini fetch": {func() Agent { return &GeminiCLI{} }, webFetch, `"web_fetch"`},
		"gemini with settings of its own": {func() Agent {
			return &GeminiCLI{Settings: `{"tools":{"exclude":["replace"]}}`}
		}, webSearch, `"google_web_search"`},
	} {
		if closed := wordsOf(t, test.agent()); !strings.Contains(closed, test.off) {
			t.Errorf("%s: it is offered:\n%s", name, closed)
		}
		if open := wordsOf(t, test.agent(), test.kind); strings.Contains(open, test.off) {
			t.Errorf("%s: it is not offered:\n%s", name, open)
		}
	}
	if open := wordsOf(t, &Codex{}, webSearch); !strings.Contains(open, `web_search="live"`) {
		t.Errorf("codex does not search:\n%s", open)
	}
}

func TestOptionThatNeedsABlockedToolNamesTheSetting(t *testing.T) {
	for name, agent := range map[string]Agent{
		"codex's settings":   &Codex{Config: []string{`web_search="live"`}},
		"codex's features":   &Codex{Enable: []string{"web_search_request"}},
		"claude's tools":     &Claude{Tools: []string{"Bash", "WebSearch"}},
		"claude's allowance": &Claude{AllowedTools: []string{"WebSearch(query:*)"}},
		"gemini's tools":     &GeminiCLI{CoreTools: []string{"web_fetch"}},
	} {
		task := Task{Prompt: "go", Workdir: "/workspace", Inference: Inference{BaseURL: "http://10.200.200.1:11434", Key: "k", Model: "m"}}
		_, err := agent.Command(task)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "--inference-tools web-") {
			t.Errorf("%s: %v %q", name, err, fault.Hints(err))
		}
		task.Inference.ServerTools = []string{webSearch, webFetch}
		if _, err := agent.Command(task); err != nil {
			t.Errorf("%s, open: %v", name, err)
		}
	}
}

func TestSessionModelsAreTheChosenOneAndThoseNamedByOptions(t *testing.T) {
	for name, test := range map[string]struct {
		agent  Agent
		chosen string
		want   string
	}{
		"only the chosen one":      {&OpenCode{}, "one", "one"},
		"none is chosen":           {&Shell{}, "", ""},
		"a small one":              {&Crush{SmallModel: "two"}, "one", "one two"},
		"several options":          {&Aider{WeakModel: "two", EditorModel: "three"}, "one", "one two three"},
		"fallbacks":                {&Qwen{FallbackModel: []string{"two", "three"}, FastModel: "one"}, "one", "one two three"},
		"settings of the agent":    {&Codex{Config: []string{`review_model="two"`, "verbosity=low"}}, "one", "one two"},
		"an alias":                 {&Claude{}, "sonnet", "sonnet claude-sonnet-5-5"},
		"an alias of two":          {&Claude{SmallModel: "haiku"}, "opusplan[1m]", "opusplan[1m] haiku opusplan claude-sonnet-5-5 claude-opus-5-5 claude-haiku-5-5"},
		"a foreign one for Gemini": {&GeminiCLI{}, "qwen3", "qwen3"},
	} {
		models, err := Models(test.agent, test.chosen)
		if got := strings.Join(models, " "); err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
	models, err := Models(&GeminiCLI{}, "gemini-2.5-pro")
	if err != nil || !slices.Contains(models, "gemini-2.5-flash-lite") || slices.Contains(models, "gemini-3-pro-preview") {
		t.Errorf("Gemini's own: %q, %v", models, err)
	}
}
