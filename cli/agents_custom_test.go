package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents/custom"
	"aibox/app"
	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/dockerfiles"
	"aibox/internal/fault"
)

// withAgents returns an app whose user has these agent files, by name.
func withAgents(t *testing.T, files map[string]string) (a *cli, out, errOut *bytes.Buffer) {
	t.Helper()
	a, out, errOut = testApp(t)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	dir, err := app.CustomAgentsDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a, out, errOut
}

const minimal = "title = \"Bot\"\nsummary = \"A bot\"\n[command]\nheadless = [\"bot\", \"{prompt}\"]\n"

func TestACustomAgentIsListedRunAndBakedLikeOthers(t *testing.T) {
	a, out, errOut := withAgents(t, map[string]string{"mybot.toml": string(custom.Example), "notes.txt": "no agent", ".swap.toml": "no agent"})
	if err := a.execute(t.Context(), []string{"agents", "--json"}); err != nil {
		t.Fatal(err)
	}
	var all []agentJSON
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.Name != "mybot" || !strings.HasSuffix(last.File, "/aibox/agents/mybot.toml") || len(last.Options) != 2 || last.State != nil {
		t.Errorf("listed: %+v", last)
	}
	if all[0].File != "" {
		t.Errorf("a built-in agent has the file %q", all[0].File)
	}
	if errOut.Len() > 0 {
		t.Errorf("warned: %s", errOut)
	}
	run, _, err := a.root().Find([]string{"run", "mybot"})
	if err != nil || run.Flags().Lookup("loud") == nil || run.Flags().Lookup("turns").DefValue != "20" {
		t.Errorf("run mybot has no flags of its own: %v", err)
	}
	builder, err := bakery.New(nil, dockerfiles.FS, bakery.Options{Recipes: a.app.CustomAgents().Recipes})
	if err != nil || !slices.Contains(builder.Names(), "mybot") {
		t.Errorf("the bakery does not know it: %v", err)
	}
}

func TestABrokenAgentFileCausesAWarningAndAnErrorOnlyWhenItsAgentIsUsed(t *testing.T) {
	a, out, errOut := withAgents(t, map[string]string{
		"good.toml": minimal, "bad.toml": "titel = \"B\"\n" + minimal, "codex.toml": minimal, "base.toml": minimal, "Upper.toml": minimal,
	})
	if err := a.execute(t.Context(), []string{"agents"}); err != nil || !strings.Contains(out.String(), "good (yours)") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`/bad.toml is left out: line 1, column 1: unknown key "titel" at the top of the file`,
		"/codex.toml is left out: aibox has a built-in agent with this name",
		`/base.toml is left out: "base" is the name of an aibox image`,
		`/Upper.toml is left out: "Upper" is not a valid agent name`,
	} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("no warning %q in\n%s", want, errOut)
		}
	}
	if lines := strings.Count(errOut.String(), "\n"); lines != 4 {
		t.Errorf("%d lines of warning:\n%s", lines, errOut)
	}
	for _, check := range a.app.Doctor().Checks() {
		if check.Name != "your agents" {
			continue
		}
		if f := check.Run(t.Context())[0]; f.State != doctor.Warning || !strings.HasPrefix(f.Detail, "4 files skipped") || f.Fix != "aibox agents check Upper" {
			t.Errorf("doctor says %+v", f)
		}
	}
	_, err := a.app.Agents().Find("bad")
	if fault.KindOf(err) != fault.Usage || !slices.Contains(fault.Hints(err), `did you mean "title"?`) {
		t.Errorf("Find(bad): %v, %q", err, fault.Hints(err))
	}
	if codex, err := a.app.Agents().Find("codex"); err != nil || codex.Info().Title != "Codex" {
		t.Errorf("a file has taken the place of codex: %v", err)
	}
}

func TestAnAgentFileThatOtherUsersCanWriteIsRefused(t *testing.T) {
	a, _, _ := withAgents(t, map[string]string{"open.toml": minimal, "group.toml": minimal, "big.toml": minimal + strings.Repeat("#", custom.MaxFile)})
	dir, err := app.CustomAgentsDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"open.toml": 0o606, "group.toml": 0o660} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"open": "other users can write to it", "group": "other users can write to it", "big": "not exceed 256 KiB", "folder": "it is not a file",
	} {
		if _, err := a.app.Agents().Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	_, err = a.app.Agents().Find("group")
	if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(hints, "chmod go-w "+filepath.Join(dir, "group.toml")) {
		t.Errorf("the hints do not name the command: %q", hints)
	}
}

// A user who can write to the folder can replace any file in it.
func TestAgentFilesInAFolderThatOtherUsersCanWriteAreRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o770, 0o707} {
		a, _, _ := withAgents(t, map[string]string{"robo.toml": minimal})
		dir, err := app.CustomAgentsDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err = a.app.Agents().Find("robo")
		if err == nil || !strings.Contains(err.Error(), "other users can write to its folder") {
			t.Errorf("mode %o: %v", mode, err)
		}
		if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(hints, "chmod go-w "+dir) {
			t.Errorf("mode %o: the hints do not name the command: %q", mode, hints)
		}
	}
}

func TestNewWritesAPrivateValidAgentFileAndNeverOverwritesAFile(t *testing.T) {
	a, out, errOut := withAgents(t, nil)
	if err := a.execute(t.Context(), []string{"agents", "new", "robo"}); err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSpace(out.String())
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasSuffix(path, "/aibox/agents/robo.toml") {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if !strings.Contains(errOut.String(), "aibox agents check robo") {
		t.Errorf("the next command is not named: %s", errOut)
	}
	if _, err := app.New(nil).Agents().Find("robo"); err != nil {
		t.Errorf("it is no agent: %v", err)
	}
	for name, want := range map[string]string{
		"robo": "already exists", "codex": `the agent "codex" already exists`, "Robo": "not a valid agent name", "../x": "not a valid agent name", "base": "an aibox image",
	} {
		if err := a.execute(t.Context(), []string{"agents", "new", name}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("new %s: %v, want %q", name, err, want)
		}
	}
}

func TestShowDescribesEveryOptionByGroup(t *testing.T) {
	a, out, _ := withAgents(t, map[string]string{"mybot.toml": string(custom.Example) + `
[[option]]
key = "token"
label = "Token"
help = "Key of its vendor"
type = "secret"
env = "MYBOT_TOKEN"
`})
	if err := a.execute(t.Context(), []string{"agents", "show", "mybot"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"My Bot 1.0.0", "speaks to the model  openai-chat", "conversations        ~/.mybot", "mybot.toml",
		"from $MYBOT_TOKEN", "a number from 1 to 1000", "(default 20; a repository can tighten it)", "(a repository can set it)", "\nLimits",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestCheckReportsEveryMistakeInAFile(t *testing.T) {
	a, out, _ := withAgents(t, map[string]string{"bad.toml": "titel = \"B\"\n" + minimal + "[env]\nA = \"{promt}\"\n"})
	err := a.execute(t.Context(), []string{"agents", "check", "bad"})
	if fault.KindOf(err) != fault.AgentFailed || !strings.Contains(err.Error(), "bad failed the check: file") {
		t.Errorf("%v", err)
	}
	for _, want := range []string{`unknown key "titel"`, "there is no placeholder {promt}", "did you mean {prompt}?"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if err := a.execute(t.Context(), []string{"agents", "check", "nobody"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("an agent that is not there: %v", err)
	}
}
