package app

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/netguard/gateway"
)

func TestAServersModelIsChosenOrTheChoiceIsExplained(t *testing.T) {
	local, err := gateway.ParseUpstream("http://127.0.0.1:8000/v1", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	list := func(ids ...string) []gateway.Model {
		models := []gateway.Model{}
		for _, id := range ids {
			models = append(models, gateway.Model{ID: id})
		}
		return models
	}
	for _, test := range []struct {
		u     gateway.Upstream
		list  []gateway.Model
		asked string
		id    string
		kind  fault.Kind
		text  string
	}{
		{local, list("one"), "", "one", 0, ""},
		{local, list("one", "two"), "two", "two", 0, ""},
		{local, nil, "any", "any", 0, ""},
		{local, list("one", "two"), "", "", fault.Usage, "has 2 models and none was chosen --model one"},
		{local, list(), "", "", fault.Environment, "has no model"},
		{local, nil, "", "", fault.Usage, "does not list its models"},
		{local, list("qwen3-coder-30b", "a", "b", "c", "d", "e", "f"), "qwen3-coder-30", "", fault.Usage, `no model "qwen3-coder-30" did you mean --model qwen3-coder-30b? aibox models --inference VALUE qwen3-coder-30b, a, b, c, d and 2 more`},
		{ollama, list("one:latest"), "one", "one:latest", 0, ""},
		{ollama, list("one:latest"), "gpt-x", "", fault.Usage, "ollama pull gpt-x"},
	} {
		model, err := inference{upstream: test.u, value: "VALUE"}.choose(test.list, test.asked)
		if model.ID != test.id || (err == nil) != (test.text == "") || err != nil && fault.KindOf(err) != test.kind {
			t.Errorf("%s of %v: %+v, %v", test.asked, test.list, model, err)
		}
		said := ""
		if err != nil {
			said = err.Error() + " " + strings.ReplaceAll(strings.Join(fault.Hints(err), " "), "`", "")
		}
		for word := range strings.FieldsSeq(test.text) {
			if !strings.Contains(said, word) {
				t.Errorf("%q: %q is not in %q", test.asked, word, said)
			}
		}
	}
}

func TestASmallContextIsWarnedOf(t *testing.T) {
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	local, _ := gateway.ParseUpstream("http://127.0.0.1:1234", os.LookupEnv)
	for _, test := range []struct {
		u     gateway.Upstream
		model gateway.Model
		want  string
	}{
		{ollama, gateway.Model{ID: "m", Context: 4096, Limit: 262144}, "4096 tokens of context, which is too few"},
		{ollama, gateway.Model{ID: "m", Limit: 262144}, "as few as 4096"},
		{ollama, gateway.Model{ID: "m", Context: 65536}, ""},
		{local, gateway.Model{ID: "m", Context: 8192}, "8192 tokens"},
		{local, gateway.Model{ID: "m"}, ""},
	} {
		if got := (inference{upstream: test.u}).contextWarning(test.model); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q", test.model, got)
		}
	}
}

func TestWhatAServerSpeaksIsWhatTheGatewayLetsThrough(t *testing.T) {
	env := func(string) (string, bool) { return "key-12345678", true }
	for value, want := range map[string]string{
		"anthropic": "[anthropic]", "openai": "[openai-chat openai-responses]", "gemini": "[gemini]",
		"http://127.0.0.1:1/v1": "[openai-chat openai-responses anthropic]", "scripted": "[openai-chat openai-responses anthropic gemini]",
	} {
		u, err := gateway.ParseUpstream(value, env)
		if got := fmt.Sprint(inference{upstream: u}.Speaks()); got != want || err != nil {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	ollama, _ := gateway.ParseUpstream("ollama", func(string) (string, bool) { return "", false })
	for version, want := range map[gateway.Version]string{
		{}: "[openai-chat openai-responses anthropic]", {0, 31, 0}: "[openai-chat openai-responses anthropic]",
		{0, 13, 3}: "[openai-chat openai-responses]", {0, 13, 2}: "[openai-chat]",
	} {
		if got := fmt.Sprint(inference{upstream: ollama, version: version}.Speaks()); got != want {
			t.Errorf("Ollama %v: %s", version, got)
		}
	}
	// So that no agent's only dialect is forgotten here.
	all := inference{upstream: gateway.Upstream{Dialects: []gateway.Dialect{gateway.OpenAI, gateway.Anthropic, gateway.Gemini, gateway.Ollama}}}.Speaks()
	for _, agent := range agents.Builtin().All() {
		if _, err := agent.Info().Spoken(all); err != nil {
			t.Error(err)
		}
	}
}

// Nobody chose that the code leaves this machine, so it is said where it goes.
func TestWhereAutoSendsCodeIsSaidAndOnlyThere(t *testing.T) {
	root, err := url.Parse("https://api.openai.com")
	if err != nil {
		t.Fatal(err)
	}
	u := gateway.Upstream{Kind: gateway.Hosted, Name: "openai", URL: root}
	if text := (inference{upstream: u}).Leaves([]string{"gpt"}); text != "" {
		t.Errorf("of one that was named: %q", text)
	}
	u.Fallback = true
	for _, models := range [][]string{{"gpt\x1b[31m"}, nil} {
		text := inference{upstream: u}.Leaves(models)
		if !strings.Contains(text, "at api.openai.com") || !strings.Contains(text, "prompts and code of this repository go there") || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%q: %q", models, text)
		}
	}
}
