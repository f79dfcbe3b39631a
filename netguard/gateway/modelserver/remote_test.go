package modelserver

import (
	"testing"

	"aibox/netguard/gateway/schema"
)

func TestForwardedModelOfALocalServerIsDetected(t *testing.T) {
	ollama := Server{Kind: OllamaHost, Name: "ollama", Dialects: []schema.Dialect{schema.OpenAI, schema.Ollama}, URL: answers(t, map[string]string{
		"/api/tags": `{"models":[{"name":"qwen3:8b"},{"name":"mine","remote_model":"gpt-oss:120b","remote_host":"https://ollama.com:443"},{"name":"gpt-oss:120b-cloud"},{"name":"odd","remote_host":"\u001b[2J"}]}`,
	})}
	models, err := Preflight(t.Context(), ollama)
	if err != nil || len(models) != 4 {
		t.Fatalf("%+v, %v", models, err)
	}
	for i, want := range []string{"", "ollama.com", "ollama.com", `\x1b[2J`} {
		if got := ollama.RemoteHost(models[i]); got != want {
			t.Errorf("%s runs on %q, not %q", models[i].ID, got, want)
		}
	}
	if got := (Server{Kind: Compatible}).RemoteHost(Model{ID: "gpt-oss:120b-cloud"}); got != "" {
		t.Errorf("elsewhere: %q", got)
	}
}

func TestSearchingModelIsDetected(t *testing.T) {
	env := environment("OPENROUTER_API_KEY", "k-12345678", "OPENAI_API_KEY", "k-12345678")
	for _, test := range []struct {
		vendor, model string
		want          bool
	}{
		{"openrouter", "openai/gpt-5:online", true},
		{"openrouter", "perplexity/sonar-pro", true},
		{"openrouter", "openai/gpt-4o-search-preview", true},
		{"openrouter", "qwen/qwen3-coder:free", false},
		{"openai", "gpt-5-search-api", true},
		{"openai", "o4-mini-deep-research-2025-06-26", true},
		{"openai", "gpt-5.2-codex", false},
		{"ollama", "perplexity/x:online", false},
	} {
		u, err := Parse(test.vendor, env)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Searches(test.model); got != test.want {
			t.Errorf("%s %s: %t", test.vendor, test.model, got)
		}
	}
}
