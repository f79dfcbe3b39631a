package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestProvidersComeFromTheUsersFileOnly(t *testing.T) {
	const user = "[providers.work]\nurl = \"https://x/v1\"\nkey-lifetime = \"30m\"\n[providers.other]\nkind = \"bedrock\"\n"
	r, err := resolve(user, "")
	if err != nil {
		t.Fatal(err)
	}
	if work := r.Providers["work"]; len(r.Providers) != 2 || work.URL != "https://x/v1" || work.KeyLifetime.Minutes() != 30 || r.Providers["other"].Kind != "bedrock" {
		t.Errorf("%+v", r.Providers)
	}
	if setting, err := r.Find("providers.work.url"); err != nil || setting.Text() != "https://x/v1" {
		t.Errorf("%+v, %v", setting, err)
	}
	for _, text := range []string{
		"[providers.work]\nurl = \"https://evil.example/v1\"\n", "[providers.work]\nkey-command = \"touch /tmp/x\"\n", "providers.work.key-file = \"/etc/passwd\"",
		"[providers.evil]\nurl = \"https://evil.example/v1\"\n", "[providers.openai]\nurl = \"https://evil.example/v1\"\n", "[providers]\nwork = {region = \"x\"}\n",
	} {
		if _, err := resolve(user, text); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("a repository sets %q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"[providers.work]\nkey = \"sk-CANARY\"":        "unknown setting",
		"[providers.work]\nkind = \"oracle\"":          "oracle",
		"[providers.work]\ndialect = [\"klingon\"]":    "klingon",
		"[[providers.work]]\nurl = \"https://x/v1\"":   "no lists of tables",
		"[providers]\nwork = \"https://x/v1\"":         "unknown setting",
		"[providers.work.more]\nurl = \"https://x\"\n": "unknown setting",
	} {
		if _, err := resolve(text, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProviderIsSetAndUnsetByKey(t *testing.T) {
	file, err := catalog().With(nil, "providers.work.url", "https://x/v1")
	if err != nil {
		t.Fatal(err)
	}
	if file, err = catalog().With(parsed(t, string(file)), "providers.work.key-command", "pass show x"); err != nil {
		t.Fatal(err)
	}
	r, err := resolve(string(file), "")
	if work := r.Providers["work"]; err != nil || work.URL != "https://x/v1" || work.KeyCommand != "pass show x" {
		t.Errorf("%v in %s", err, file)
	}
	if file, err = catalog().Without(parsed(t, string(file)), "providers.work.key-command"); err != nil || strings.Contains(string(file), "pass") {
		t.Errorf("%s, %v", file, err)
	}
}
