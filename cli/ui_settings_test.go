package cli

import (
	"os"
	"strings"
	"testing"

	"aibox/app"
)

func TestTheScreenOfSettingsReadsAndWritesWhatTheCommandsDo(t *testing.T) {
	a, _, _ := testApp(t)
	repo := settingsOf(t, "# mine\nkeep = \"10d\"\ntimeout = \"30m\"\n", "timeout = \"20m\"\n")
	t.Chdir(repo)
	desk := settingsScreen{a}
	book, err := desk.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if book.Repository != repo || book.Own["timeout"].Text() != "30m" {
		t.Errorf("the repository is %q, and your file says %q", book.Repository, book.Own["timeout"].Text())
	}
	held := map[string]string{}
	for _, setting := range book.Held {
		held[setting.Key] = setting.Text() + " from " + setting.Origin()
		if setting.Key == "agent" && !strings.Contains(strings.Join(book.Choices(setting), " "), "codex") {
			t.Errorf("the agents to choose from are %q", book.Choices(setting))
		}
	}
	if held["timeout"] != "20m from .aibox.toml:1" {
		t.Errorf("the time limit is %s", held["timeout"])
	}
	if book.Check("pids", "-1") == nil || book.Check("pids", "100") != nil {
		t.Error("what is typed is not checked")
	}

	own, err := a.app.UserSettings() // as the rest of the program reads them
	if err != nil || own.Settings.Keep.Hours() != 240 {
		t.Fatalf("your settings cannot be read: %v", err)
	}
	if err := desk.Set(t.Context(), "keep", "5d"); err != nil {
		t.Fatal(err)
	}
	if err := desk.Unset(t.Context(), "timeout"); err != nil {
		t.Fatal(err)
	}
	file, err := app.UserSettingsFile()
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(file); string(data) != "# mine\nkeep = \"5d\"\n" {
		t.Errorf("the file is %q", data)
	}
	if _, err := desk.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if own, err := a.app.UserSettings(); err != nil || own.Settings.Keep.Hours() != 120 {
		t.Errorf("the rest of the program still goes by the old settings: %v", err)
	}
}
