package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/netguard/gateway/modelserver"
)

// withSettings returns an App whose user has the settings.
func withSettings(t *testing.T, text string) *App {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	if err := os.MkdirAll(filepath.Join(config, "aibox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "aibox", "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(nil)
}

func TestSettingsDescribeModelServers(t *testing.T) {
	t.Setenv("WORK_KEY", "work-CANARY-0123456789")
	a := withSettings(t, `
inference = "work"
[providers.work]
url = "https://llm.example.org/team/v1"
dialect = ["openai"]
key-env = "WORK_KEY"
[providers.vertex]
project = "my-project"
region = "europe-west1"
key-command = "gcloud auth print-access-token --account 'me@example.org'"
key-lifetime = "30m"
`)
	u, err := openUpstream(t.Context(), "work", a.keys.lookup, a.providers())
	if err != nil || u.Name != "work" || u.URL.String() != "https://llm.example.org/team" || u.Key.Reveal() != "work-CANARY-0123456789" || u.DialectNames() != "openai" {
		t.Errorf("%+v, %v", u, err)
	}
	if keys := a.ModelKeys(); keys["WORK_KEY"] != "work-CANARY-0123456789" {
		t.Errorf("the variable does not reach the supervisor: %d keys", len(keys))
	}
	vertex, err := openUpstream(t.Context(), "vertex", a.keys.lookup, a.providers())
	if err != nil || vertex.Address() != "europe-west1-aiplatform.googleapis.com" || !vertex.HasKey() {
		t.Errorf("%+v, %v", vertex, err)
	}
	for _, model := range []struct{ name, want string }{{"claude-sonnet-4-5@20250929", "[anthropic]"}, {"gemini-2.5-pro", "[gemini]"}, {"", "[gemini anthropic]"}} {
		var names []string
		for _, dialect := range (inference{upstream: vertex}).Speaks(model.name) {
			names = append(names, dialect.String())
		}
		if got := "[" + strings.Join(names, " ") + "]"; got != model.want {
			t.Errorf("%q: %s, want %s", model.name, got, model.want)
		}
	}
	if err := a.CheckModel(t.Context(), a.Agents().All()[0].Info(), "nobody", ""); err == nil || !strings.Contains(strings.Join(fault.Hints(err), " "), "work") {
		t.Errorf("the providers are not among the names: %v", err)
	}
}

func TestFaultyProvidersAreRefusedWithTheirName(t *testing.T) {
	for text, want := range map[string]string{
		"[providers.work]\nregion = \"x\"":                                                           "[providers.work] has no url",
		"[providers.work]\nurl = \"ftp://x\"":                                                        "not the URL",
		"[providers.work]\nurl = \"https://x/v1\"\nkey-env = \"A\"\nkey-command = \"b\"":             "several keys",
		"[providers.openai]\nkind = \"azure\"":                                                       "is the provider openai",
		"[providers.auto]\nurl = \"https://x/v1\"":                                                   "cannot be called",
		"[providers.work]\nurl = \"https://x/v1\"\nkey-command = \"pass | head\"":                    "no shell runs it",
		"[providers.work]\nurl = \"https://x/v1\"\nkey-file = \"key\"":                               "whole path",
		"[providers.work]\nurl = \"https://x/v1\"\nkey = \"sk-CANARY-0123\"":                         `unknown setting "providers.work.key"`,
		"[providers.work]\nurl = \"https://x/v1\"\nkind = \"oracle\"":                                "kind",
		"inference = \"worker\"\n[providers.work]\nurl = \"https://x/v1\"\nkey-command = \"echo x\"": "unknown model server",
	} {
		a := withSettings(t, text)
		_, err := a.Settings("")
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestKeyFileIsReadOnlyIfOnlyTheUserCanReadIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	open := func() (modelserver.Server, error) {
		return modelserver.Parse("work", os.LookupEnv, modelserver.Provider{Name: "work", URL: "https://x/v1", KeyFile: file})
	}
	if err := os.WriteFile(file, []byte("sk-CANARY-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err := open(); err != nil || u.Key.Reveal() != "sk-CANARY-0123456789" {
		t.Errorf("%v", err)
	}
	for mode, want := range map[os.FileMode]string{0o640: "0640", 0o604: "0604", 0o622: "0622"} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := open(); err == nil || fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	file = dir
	if _, err := open(); err == nil || fault.KindOf(err) != fault.Refused {
		t.Errorf("a folder: %v", err)
	}
	file = filepath.Join(dir, "none")
	if _, err := open(); err == nil || fault.KindOf(err) != fault.Environment {
		t.Errorf("no file: %v", err)
	}
}
