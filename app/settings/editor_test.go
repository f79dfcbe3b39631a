package settings_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aibox/app"
	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/flock"
)

// userFile returns the path of the settings file of a user who has none yet.
func userFile(t *testing.T) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	file, err := settings.File()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnEditorReadsAndChangesTheSettings(t *testing.T) {
	file := userFile(t)
	repo, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "# mine\nkeep = \"10d\"\ntimeout = \"30m\"\n")
	write(t, filepath.Join(repo, config.RepositoryName), "timeout = \"20m\"\n")
	write(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/main")
	t.Chdir(repo)
	a := app.New(nil)
	editor := a.SettingsEditor()
	overview, err := editor.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if overview.Repository != repo || overview.Own["timeout"].Text() != "30m" {
		t.Errorf("the repository is %q, and your file has %q", overview.Repository, overview.Own["timeout"].Text())
	}
	held := map[string]string{}
	for _, setting := range overview.Held {
		held[setting.Key] = setting.Text() + " from " + setting.Origin()
		if setting.Key == "agent" && !strings.Contains(strings.Join(overview.Choices(setting), " "), "codex") {
			t.Errorf("the agents to choose from are %q", overview.Choices(setting))
		}
	}
	if held["timeout"] != "20m from .aibox.toml:1" {
		t.Errorf("the time limit is %s", held["timeout"])
	}
	if overview.Check("pids", "-1") == nil || overview.Check("pids", "100") != nil {
		t.Error("a typed value is not checked")
	}

	own, err := a.UserSettings() // as the other parts of the program read them
	if err != nil || own.Settings.Keep.Hours() != 240 {
		t.Fatalf("your settings cannot be read: %v", err)
	}
	if err := editor.Set(t.Context(), "keep", "5d"); err != nil {
		t.Fatal(err)
	}
	if err := editor.Unset(t.Context(), "timeout"); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(file); string(data) != "# mine\nkeep = \"5d\"\n" {
		t.Errorf("the file is %q", data)
	}
	if _, err := editor.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if own, err := a.UserSettings(); err != nil || own.Settings.Keep.Hours() != 120 {
		t.Errorf("the app still uses the old settings: %v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAChangeAfterWhichTheSettingsCannotBeReadIsRefused(t *testing.T) {
	file := userFile(t)
	editor := app.New(nil).SettingsEditor()
	content := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const valid = "[providers.work]\nurl = \"https://llm.example.org/v1\"\nkey-command = \"pass show llm\"\n"
	write(t, file, valid)
	for key, value := range map[string]string{"providers.work.url": "ftp://llm.example.org", "providers.other.key-command": "pass show other"} {
		if err := editor.Set(t.Context(), key, value); err == nil {
			t.Errorf("%s = %s is accepted", key, value)
		}
	}
	if err := editor.Unset(t.Context(), "providers.work.url"); err == nil || content() != valid {
		t.Errorf("%v, and the file is %q", err, content())
	}
	for _, key := range []string{"providers.work.key-command", "providers.work.url"} {
		if err := editor.Unset(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if content() != "" {
		t.Errorf("left is %q", content())
	}
	write(t, file, "[providers.work]\n") // by hand
	if err := editor.Set(t.Context(), "providers.work.url", "https://llm.example.org/v1"); err != nil {
		t.Errorf("a file that cannot be read cannot be mended: %v", err)
	}
}

// Of two changes at the same time, none is lost: a lost entry of the deny list would allow its host.
func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	file := userFile(t)
	changes := map[string]string{
		"deny": "evil.example.org", "allow": "example.org", "keep": "10d", "timeout": "30m",
		"memory": "2GiB", "pids": "100", "hide": "*.key", "disk": "20GiB",
	}
	var running sync.WaitGroup
	for key, text := range changes {
		running.Go(func() {
			if err := app.New(nil).SettingsEditor().Set(t.Context(), key, text); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	running.Wait()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for key := range changes {
		if !strings.Contains(string(data), "\n"+key+" = ") && !strings.HasPrefix(string(data), key+" = ") {
			t.Errorf("%s is missing in %q", key, data)
		}
	}
}

// A change waits for the one in progress, and reads what that has written.
func TestAChangeWaitsForTheOneInProgress(t *testing.T) {
	file := userFile(t)
	write(t, file, "keep = \"10d\"\n")
	lock, err := flock.Try(filepath.Join(filepath.Dir(file), ".config.toml.lock"), flock.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := app.New(nil).SettingsEditor().Set(ctx, "timeout", "30m"); !errors.Is(err, context.Canceled) {
		t.Errorf("a change during another one: %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "keep = \"10d\"\n" {
		t.Errorf("the file is %q", data)
	}
}
