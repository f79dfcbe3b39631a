package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/shellquote"
)

func TestEveryOptionOfEveryAgentIsSetInTheForm(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if info.OwnCloud {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			f := startForm(t, info.Name, "--prompt", "hello world")
			options := agents.Options(agent)
			wanted := fillEvery(t, f, options)
			f.sees("New run")
			f.submits()
			task := "--prompt=hello world"
			if info.Name == shellAgent {
				task = "-- sh -c 'hello world'"
			}
			line := shellquote.Join(f.request.CommandLine(run.OwnFlags(agent)))
			for _, want := range append(wanted, task) {
				if !strings.Contains(strings.ReplaceAll(line, "'", ""), strings.ReplaceAll(want, "'", "")) {
					t.Errorf("the command holds no %s:\n%s", want, line)
				}
			}
			f.printed("→ " + line)
			f.mu.Lock()
			defer f.mu.Unlock()
			if strings.Contains(f.raw.String(), "canary") {
				t.Error("the terminal shows a secret")
			}
		})
	}
}

// fillEvery sets each visible field, and returns what the command line must then contain. It does
// not wait for a frame after each field, which would take most of a minute for all agents: the form
// handles the keys in order.
func fillEvery(t *testing.T, f *formRun, options any) []string {
	t.Helper()
	fields, err := spec.Of(options)
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	byGroup := map[string][]spec.Field{"": nil}
	for _, field := range fields {
		if field.Mode.Includes(spec.Headless) {
			if _, known := byGroup[field.Group]; !known {
				groups = append(groups, field.Group)
			}
			byGroup[field.Group] = append(byGroup[field.Group], field)
		}
	}
	set, typed, first := map[string]string{}, "", ""
	for _, group := range append([]string{""}, groups...) {
		for _, field := range byGroup[group] {
			if !spec.Visible(options, field) {
				continue
			}
			if first == "" {
				first = field.Label
			}
			keys, text := keysFor(field, spec.Clone(options))
			typed += keys
			if field.Type != spec.Secret {
				set[field.Key] = text
				if err := field.Set(options, text); err != nil {
					t.Fatalf("%s: %v", field.Key, err)
				}
			}
		}
	}
	if first != "" {
		f.sees("▸ " + first)
		f.press(typed)
	}
	var wanted []string
	for _, field := range fields {
		text, ok := set[field.Key]
		switch {
		case !ok || !spec.Visible(options, field): // a later answer may have hidden it
		case text == "true":
			wanted = append(wanted, "--"+field.Key)
		default:
			wanted = append(wanted, field.Key+"="+text)
		}
	}
	return wanted
}

func TestACanceledFormStartsNothing(t *testing.T) {
	for _, keys := range []string{"\x1b", "\x03", "\t\t\x03", "\x13\x03"} {
		f := startForm(t, "codex", "--prompt", "hello")
		f.sees("▸ Reasoning effort")
		f.press(keys)
		if keys == "\x1b" {
			f.sees("leave")
			f.press("q")
		}
		if code := f.ends(); code != 130 {
			t.Errorf("%q ended with %d", keys, code)
		}
		f.sees("canceled; nothing was started")
	}
}

// mine is a custom agent with a secret.
const mine = `title = "Mine"
summary = "An agent with a secret"
version = "1"
speaks = ["openai-chat"]
[image]
run = ["true"]
[command]
headless = ["mine", "{options}", "{prompt}"]
[env]
OPENAI_BASE_URL = "{openai}"
MODEL = "{model}"
OPENAI_API_KEY = "{key}"
[[option]]
key = "token"
label = "Token"
help = "For its vendor"
type = "secret"
env = "MINE_TOKEN"
[[option]]
key = "words"
label = "Words"
help = "Some words"
type = "list"
flag = "--word"
`

func TestTheFormShowsASecretAsDotsEverywhere(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "aibox", "agents")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "mine.toml"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MINE_TOKEN", "canary")
	f := startFormIn(t, home, "mine", "--prompt", "hello")
	f.sees("leave it empty to")
	f.press("canary-two\tone\rtwo, too\t\x13")
	f.sees("mine --word one --word two --word too hello")
	f.sees("MINE_TOKEN=••••••••")
	f.submits()
	f.printed("--words=one,two,too")
	if secrets := run.Reveal(f.request.Secrets); secrets["token"] != "canary-two" {
		t.Errorf("the secrets are %q", secrets)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(f.raw.String(), "canary") {
		t.Error("the terminal shows a secret")
	}
}

func TestValuesTypedIntoTheFormReachTheRun(t *testing.T) {
	options, err := spec.Struct([]spec.Definition{
		{Key: "token", Type: "secret", Tags: map[string]string{"label": "T", "help": "h", "env": "TOKEN"}},
		{Key: "other", Type: "secret", Tags: map[string]string{"label": "T", "help": "h", "env": "OTHER"}},
		{Key: "effort", Type: "choice", Tags: map[string]string{"label": "T", "help": "h", "choices": "low high", "default": "low"}},
		{Key: "fast", Type: "bool", Tags: map[string]string{"label": "T", "help": "h", "default": "true"}},
		{Key: "wait", Type: "duration", Tags: map[string]string{"label": "T", "help": "h", "default": "1m"}},
		{Key: "words", Type: "list", Tags: map[string]string{"label": "T", "help": "h", "when": "fast"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	fields, err := spec.Of(options)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"canary", "", "low", "false", "0s", "a,b"} {
		if err := fields[i].Set(options, text); err != nil {
			t.Fatal(err)
		}
	}
	// A value that was given before is printed even if it is the default, because a setting may
	// differ; a value without an effect is not.
	given := map[string]string{"effort": "high"}
	got := run.Request{Agent: "mine"}.WithOptions(given, options)
	if want := map[string]string{"effort": "low", "fast": "false", "wait": "0s"}; !maps.Equal(got.Options, want) {
		t.Errorf("chosen: %q", got.Options)
	}
	if secrets := run.Reveal(got.Secrets); !maps.Equal(secrets, map[string]string{"token": "canary"}) {
		t.Errorf("the secrets are %q", secrets)
	}
	own := func(key string) bool { return key != "wait" }
	if line := shellquote.Join(got.CommandLine(own)); line != "aibox run mine --effort=low --fast=false --set wait=0s" {
		t.Errorf("the command is %s", line)
	}
}

func TestTheFormAsksForAMissingPrompt(t *testing.T) {
	f := startForm(t, "codex", "--reasoning-effort", "low")
	f.sees("What should the agent do?")
	f.press("\x13")
	f.sees("needs a task")
	f.press("\r")
	f.sees("next: describe the task")
	f.press("fix it\t")
	f.sees("• low")
	f.submits()
	f.printed("--reasoning-effort=low '--prompt=fix it'")
}

func TestTheFormObeysNoColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	f := startForm(t, "codex", "--prompt", "hello")
	f.sees("▸ Reasoning effort")
	f.press("\x03")
	f.ends()
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := regexp.MustCompile("\x1b\\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m").FindString(f.raw.String()); found != "" {
		t.Errorf("a color: %q", found)
	}
}

func TestTheFormAsksLineByLineIfRequested(t *testing.T) {
	t.Setenv("ACCESSIBLE", "1")
	f := startForm(t, "codex", "--prompt", "hello")
	f.sees("Enter a number between")
	f.press("\x04")
	if code := f.ends(); code != 130 {
		t.Errorf("ended with %d:\n%s", code, f.screen())
	}
}

func TestAFormWithoutATerminalIsAUsageFault(t *testing.T) {
	a, _, errOut := testApp(t)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "none"))
	err := a.execute(t.Context(), []string{"run", "codex", "--prompt", "x", "--repo", t.TempDir(), "--form"})
	a.report(err)
	if !strings.Contains(errOut.String(), "--form needs a terminal") || !strings.Contains(errOut.String(), "--set") {
		t.Errorf("%v: %s", err, errOut)
	}
}
