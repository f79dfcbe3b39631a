package settings_test

import (
	"os"
	"strings"
	"testing"

	"aibox/app"
)

func TestAnAllowedHostIsAddedToTheUsersList(t *testing.T) {
	file := userFile(t)
	editor := app.New(nil).SettingsEditor()
	for _, entry := range []string{"example.org:443", "Example.org:443", "[2606:4700::1]:22"} {
		if got, err := editor.AllowHost(t.Context(), "codex", entry); err != nil || got != file {
			t.Fatalf("%s: %s, %v", entry, got, err)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != "allow = [\"example.org:443\", \"[2606:4700::1]:22\"]\n" {
		t.Errorf("the file is %q", data)
	}
	write(t, file, "# mine\nallow = [\"npm\"]\nkeep = \"10d\"\n")
	if _, err := editor.AllowHost(t.Context(), "codex", "example.org:443"); err != nil {
		t.Fatal(err)
	}
	want := "# mine\nallow = [\"npm\", \"example.org:443\"]\nkeep = \"10d\"\n"
	if data, _ := os.ReadFile(file); string(data) != want {
		t.Errorf("the file is %q", data)
	}
	for _, entry := range []string{"*", "127.0.0.1", "169.254.169.254:80", "*.com", "", "a,b"} {
		if _, err := editor.AllowHost(t.Context(), "codex", entry); err == nil {
			t.Errorf("%q was added", entry)
		}
	}
	if data, _ := os.ReadFile(file); string(data) != want {
		t.Errorf("refused entries left %q", data)
	}
	write(t, file, "allow = [\n")
	if _, err := editor.AllowHost(t.Context(), "codex", "example.org:443"); err == nil || !strings.Contains(err.Error(), "config.toml") {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestADeniedHostIsAddedToTheUsersList(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	editor := app.New(nil).SettingsEditor()
	for _, entry := range []string{"*.Example.org", "*.example.org"} {
		file, err := editor.DenyHost(t.Context(), "codex", entry)
		if err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(file); string(data) != "deny = [\"*.example.org\"]\n" {
			t.Errorf("the file is %q", data)
		}
	}
}

func TestAHostIsAddedToTheListThatAppliesToItsAgent(t *testing.T) {
	file := userFile(t)
	write(t, file, "allow = [\"npm\"]\n\n[agents.codex]\nallow = [\"github\"]\n")
	editor := app.New(nil).SettingsEditor()
	for agent, entry := range map[string]string{"codex": "codex.example.org", "claude": "claude.example.org"} {
		if _, err := editor.AllowHost(t.Context(), agent, entry); err != nil {
			t.Fatal(err)
		}
	}
	want := "allow = [\"npm\", \"claude.example.org\"]\n\n[agents.codex]\nallow = [\"github\", \"codex.example.org\"]\n"
	if data, _ := os.ReadFile(file); string(data) != want {
		t.Errorf("the file is %q", data)
	}
}

// A path of an entry can contain a comma, which also separates entries.
func TestAnAddedHostLeavesTheOtherEntriesUnchanged(t *testing.T) {
	file := userFile(t)
	const own = `allow = ["https://api.example.com/v1/items,other.example.org"`
	write(t, file, own+"]\n")
	if _, err := app.New(nil).SettingsEditor().AllowHost(t.Context(), "codex", "x.example.org"); err != nil {
		t.Fatal(err)
	}
	want := own + ", \"x.example.org\"]\n"
	if data, _ := os.ReadFile(file); string(data) != want {
		t.Errorf("the file is %q, want %q", data, want)
	}
}
