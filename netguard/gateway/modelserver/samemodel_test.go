package modelserver

import (
	"net/url"
	"testing"

	"aibox/netguard/gateway/schema"
)

func TestModelNamesAreComparedByTheServersRules(t *testing.T) {
	vendorAt := func(name, host string, dialects ...schema.Dialect) Server {
		return Server{Kind: Hosted, Name: name, URL: &url.URL{Scheme: "https", Host: host}, Dialects: dialects}
	}
	ollama := Server{Kind: OllamaHost, Name: "ollama", URL: &url.URL{Scheme: "http", Host: "127.0.0.1:11434"}, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}}
	local := Server{Kind: Compatible, Name: "http://127.0.0.1:8000", URL: &url.URL{Scheme: "http", Host: "127.0.0.1:8000"}, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic}}
	openai := vendorAt("openai", "api.openai.com", schema.OpenAI)
	anthropic := vendorAt("anthropic", "api.anthropic.com", schema.Anthropic)
	gemini := vendorAt("gemini", "generativelanguage.googleapis.com", schema.Gemini)
	openrouter := vendorAt("openrouter", "openrouter.ai", schema.OpenAI, schema.Anthropic)
	for _, c := range []struct {
		upstream         Server
		own, asked, want string // "" for none
	}{
		{ollama, "qwen3", "qwen3", "qwen3"},
		{ollama, "qwen3", "qwen3:latest", "qwen3"},
		{ollama, "qwen3:latest", "Qwen3", "qwen3:latest"},
		{ollama, "qwen3", "qwen3:8b", ""},
		{ollama, "gpt-oss:120b", "gpt-oss:120b-cloud", ""},
		{ollama, "gpt-oss", "gpt-oss:cloud", ""},
		{ollama, "gpt-oss:120b-cloud", "gpt-oss:120b-cloud", "gpt-oss:120b-cloud"},
		{ollama, "qwen3", "hf.co/x/qwen3", ""},
		{local, "org/model", "org/model", "org/model"},
		{local, "org/model", "model", ""},
		{local, "model", "Model", ""},
		{local, "model", "model ", ""},
		{local, "", "", ""},
		{openai, "gpt-5.1", "gpt-5.1-codex", ""},
		{openrouter, "a/b", "a/b:free", ""},
		{openrouter, "a/b:free", "a/b:free", "a/b:free"},
		{openrouter, "a/b", "openrouter/auto", ""},
		{anthropic, "claude-sonnet-4-5", "claude-sonnet-4-5", "claude-sonnet-4-5"},
		{anthropic, "claude-sonnet-4-5[1m]", "claude-sonnet-4-5", "claude-sonnet-4-5"},
		{anthropic, "claude-sonnet-4-5", "claude-opus-4-6", ""},
		{anthropic, "sonnet", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"},
		{anthropic, "sonnet[1m]", "claude-sonnet-5", "claude-sonnet-5"},
		{anthropic, "sonnet", "claude-opus-4-6", ""},
		{anthropic, "opusplan", "claude-opus-4-6", "claude-opus-4-6"},
		{anthropic, "opusplan", "claude-haiku-4-5", ""},
		{anthropic, "best", "claude-3-5-haiku-20241022", "claude-3-5-haiku-20241022"},
		{anthropic, "sonnet", "claude-sonnet-4-5/../files", ""},
		{gemini, "gemini-2.5-flash", "models/gemini-2.5-flash", "models/gemini-2.5-flash"},
		{gemini, "gemini-2.5-flash", "gemini-2.5-flash-lite", ""},
		{gemini, "gemini-2.5-flash", "gemini-2.5-pro", ""},
		{gemini, "gemini-3-pro-preview", "gemini-3.1-pro-preview", "gemini-3.1-pro-preview"},
		{gemini, "gemini-3-pro-preview", "gemini-2.5-pro-preview", ""},
		{gemini, "pro", "gemini-2.5-pro", "gemini-2.5-pro"},
		{gemini, "flash", "gemini-2.5-flash-lite", ""},
		{gemini, "auto", "gemini-3-flash-preview", "gemini-3-flash-preview"},
		{gemini, "auto", "imagen-4", ""},
		{gemini, "tunedModels/mine", "mine", ""},
	} {
		name, ok := c.upstream.SameModel(c.own, c.asked)
		if ok != (c.want != "") || ok && name != c.want {
			t.Errorf("%s: with %q, %q is %q, %t", c.upstream.Name, c.own, c.asked, name, ok)
		}
	}
}
