package app

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/netguard/gateway/modelserver"
)

func TestUsersPricesTakePrecedenceOverListPrices(t *testing.T) {
	a := withSettings(t, "[providers.work]\nurl = \"https://x.example/v1\"\nkey-env = \"WORK_KEY\"\n")
	t.Setenv("WORK_KEY", "work-CANARY-0123456789")
	t.Setenv("OPENROUTER_API_KEY", "sk-or-CANARY-0123456789")
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-CANARY-0123456789")
	const own = "[work.\"claude-sonnet-4-5\"]\ninput = 1\noutput = 2\n[anthropic.\"claude-haiku-4-5\"]\ninput = 7\noutput = 9\n[openrouter.\"anthropic/claude-opus-4.5\"]\ninput = 6\noutput = 6\n[any.big]\ninput = 3\noutput = 4\n[ollama.taxed]\ninput = 5\noutput = 5\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aibox", "prices.toml"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := loadPrices()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		server, model string
		input         float64 // -1 if unknown
	}{
		{"work", "claude-sonnet-4-5", 1},
		{"work", "claude-haiku-4-5", -1},
		{"work", "big", 3},
		{"work", "other", -1},
		{"anthropic", "claude-haiku-4-5-20251001", 7},
		{"anthropic", "claude-sonnet-4-5", 3},
		{"anthropic", "other", -1},
		{"ollama", "qwen3-coder", 0},
		{"ollama", "gpt-oss:120b-cloud", -1},
		{"ollama", "taxed", 5},
		{"openrouter", "anthropic/claude-sonnet-4.5", 3},
		{"openrouter", "anthropic/claude-haiku-4.5", 7},
		{"openrouter", "anthropic/claude-opus-4.5", 6},
		{"openrouter", "google/gemini-3.5-flash", 1.5},
		{"openrouter", "openai/gpt-5-mini", 0.25},
		{"openrouter", "openai/gpt-5-mini:nitro", -1},
		{"openrouter", "qwen/qwen3-coder", -1},
		{"openrouter", "claude-sonnet-4-5", -1},
		{"work", "anthropic/claude-sonnet-4.5", -1},
		{"scripted", "any", 0},
		{"http://127.0.0.1:4000/v1", "claude-sonnet-4-5", -1},
		{"http://127.0.0.1:4000/v1", "big", 3},
	} {
		u, err := modelserver.Parse(test.server, a.keys.lookup, a.providers()...)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := inference{upstream: u, prices: known}.price(test.model)
		if ok != (test.input >= 0) || ok && p.Input != test.input {
			t.Errorf("%s at %s: %+v, %t", test.model, test.server, p, ok)
		}
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aibox", "prices.toml"), []byte("[work.m]\ninput = -1\noutput = 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadPrices(); err == nil {
		t.Error("a faulty file is ignored")
	}
}
