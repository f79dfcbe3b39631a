package run

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/netguard"
	"aibox/session"
	"aibox/workspace"
)

func full() Request {
	return Request{
		Agent: "codex", Repository: "/home/ann/shop", Branch: "dark", Interactive: true, Prompt: "mend it",
		Settings: map[string]string{"timeout": "30m", "hide": `*.key,"a,b"`, "clean": "true", "verify": "make test"},
		Options:  map[string]string{"fast": "true", "effort": "low", "tone": "dry"}, Args: []string{"--verbose"},
	}
}

func TestADraftSaysItselfAsACommandLine(t *testing.T) {
	own := func(key string) bool { return key != "tone" }
	want := []string{
		"run", "codex", "--repo=/home/ann/shop", "--branch=dark", "--interactive", "--timeout=30m", "--hide=*.key", `--hide="a,b"`, "--clean",
		"--verify=make test", "--effort=low", "--fast", "--set", "tone=dry", "--prompt=mend it", "--", "--verbose",
	}
	if got := full().Words(own); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := (Request{}).Words(nil); !slices.Equal(got, []string{"run"}) {
		t.Errorf("nothing is said as %q", got)
	}
}

func TestEverySettingOfADraftIsOne(t *testing.T) {
	fields, err := spec.Of(config.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range Settable() {
		if _, err := spec.Find(fields, key); err != nil {
			t.Error(err)
		}
	}
	if words := (Request{Settings: map[string]string{"shade": "red"}}).Words(nil); !slices.Contains(words, "--shade=red") {
		t.Errorf("a key that is no setting is lost: %q", words)
	}
}

func TestLastChoicesComeBackWithoutTheTaskAndAnyArgument(t *testing.T) {
	store := Open(filepath.Join(t.TempDir(), "choices"))
	if _, ok := store.Last("/home/ann/shop"); ok {
		t.Error("there are choices before any were made")
	}
	if err := store.Save(full()); err != nil {
		t.Fatal(err)
	}
	want := full()
	want.Prompt, want.Branch, want.Args = "", "", nil
	if got, ok := store.Last("/home/ann/shop"); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if _, ok := store.Last("/home/ann/blog"); ok {
		t.Error("another repository has the same choices")
	}
	file := store.file("/home/ann/shop")
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "mend it") || strings.Contains(string(data), "--verbose") {
		t.Errorf("the file holds %s, %v", data, err)
	}
	for what, path := range map[string]string{"folder": store.dir, "file": file} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the %s is open to others: %v, %v", what, info.Mode(), err)
		}
	}
}

func TestAFileOfChoicesThatNobodyWroteCountsAsNone(t *testing.T) {
	store := Open(t.TempDir())
	good := `{"version":1,"repository":"/r","choices":{"agent":"codex"}}`
	for what, content := range map[string]string{
		"nothing": "", "another form": strings.Replace(good, ":1", ":2", 1), "another repository": strings.Replace(good, "/r", "/s", 1),
		"an unknown key": strings.Replace(good, `"agent"`, `"secret"`, 1), "more behind it": good + good,
		"too much": good + strings.Repeat(" ", largest),
	} {
		if err := os.WriteFile(store.file("/r"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := store.Last("/r"); ok {
			t.Errorf("%s gives %+v", what, got)
		}
	}
	if err := os.WriteFile(store.file("/r"), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.Last("/r"); !ok {
		t.Error("what is right is not taken")
	}
	if err := os.Rename(store.file("/r"), store.file("/r")+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(store.file("/r")+".real", store.file("/r")); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.Last("/r"); ok {
		t.Error("a symlink is followed")
	}
}

func FuzzChoices(f *testing.F) {
	f.Add([]byte(`{"version":1,"repository":"/r","choices":{"agent":"codex","settings":{"hide":"a,b"}}}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if d, ok := decode(data, "/r"); ok {
			d.Words(nil)
		}
	})
}

// ran is a session that said everything.
func ran() session.Spec {
	return session.Spec{ID: "0dq4f", Agent: "codex", Options: map[string]string{"effort": "low", "tone": "plain"}, Prompt: "mend it", Repository: "/home/ann/shop", Branch: "dark", Prompts: []session.SystemPrompt{{Name: "careful", Text: "…"}}, Resumes: "0aaaa", Run: config.Run{Clean: true, Hide: append(workspace.DefaultHide(), "vault"), Network: netguard.None.String(), Inference: "scripted", Model: "qwen3", Env: []string{"TOKEN"}, InferenceTools: []string{netguard.WebSearch.String()}, MaxUpload: 64, MaxTokens: 5000, ModelTimeout: amount.Duration(5 * time.Minute), StateSize: 32, AllowDegraded: true, Timeout: amount.Duration(30 * time.Minute), Pids: 64, Verify: "make test", VerifyTimeout: amount.Duration(time.Minute)}}
}

func TestASessionIsRunAgainAsItWas(t *testing.T) {
	want := []string{
		"run", "codex", "--repo=/home/ann/shop", "--branch=dark", "--model=qwen3", "--inference=scripted", "--inference-tools=web-search",
		"--max-upload=64", "--max-tokens=5000", "--model-timeout=5m", "--network=none", "--timeout=30m", "--pids=64", "--state-size=32",
		"--hide=vault", "--clean", "--system=careful", "--verify=make test", "--verify-timeout=1m", "--env=TOKEN",
		"--set", "effort=low", "--set", "tone=plain", "--prompt=mend it",
	}
	if got := Of(ran()).Words(nil); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	closed := ran()
	closed.InferenceTools = nil
	if got := Of(closed).Words(nil); !slices.Contains(got, "--inference-tools=") {
		t.Errorf("what was closed may be open: %q", got)
	}
}

func TestALimitThatWasLiftedIsRepeatedAsLifted(t *testing.T) {
	old := ran()
	old.StateSize, old.ModelTimeout, old.Pids = 0, 0, 0
	words := Of(old).Words(nil)
	for _, want := range []string{"--state-size=0", "--model-timeout=0s", "--pids=0"} {
		if !slices.Contains(words, want) {
			t.Errorf("%s is not repeated: %q", want, words)
		}
	}
}

// The machine may enforce fewer limits by now than it did when the user allowed that.
func TestAllowingDegradedLimitsIsNeverRepeated(t *testing.T) {
	if words := Of(ran()).Words(nil); strings.Contains(strings.Join(words, " "), "degraded") {
		t.Errorf("a rerun allows it: %q", words)
	}
	store, d := Open(filepath.Join(t.TempDir(), "choices")), full()
	d.Settings["allow-degraded"] = "true"
	if err := store.Save(d); err != nil {
		t.Fatal(err)
	}
	if got, ok := store.Last(d.Repository); !ok || got.Settings["allow-degraded"] != "" || got.Settings["timeout"] != "30m" {
		t.Errorf("the last choices are %+v", got)
	}
	if d.Settings["allow-degraded"] != "true" {
		t.Error("the run that was saved lost it")
	}
}

// options of an agent.
type options struct {
	Effort string `label:"Effort" help:"How hard it tries" choices:"low mid high"`
	Tone   string `label:"Tone" help:"How it talks" default:"plain"`
}

func TestWhatHoldsAnywayIsNotSaid(t *testing.T) {
	user := filepath.Join(t.TempDir(), "config.toml")
	text := "network = \"none\"\ntimeout = \"30m\"\nmodel = \"other\"\nhide = [\"vault\"]\npids = 64\ninference-tools = [\"web-search\"]\nmax-upload = 64\nstate-size = 32\n[agents.codex]\neffort = \"low\"\n"
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	document, err := config.ReadUser(user)
	if err != nil {
		t.Fatal(err)
	}
	own := new(options)
	if err := spec.Defaults(own); err != nil {
		t.Fatal(err)
	}
	resolved, err := config.Catalog{Agents: []config.Agent{{Name: "codex", Options: own}}}.Resolve(config.Input{User: document})
	if err != nil {
		t.Fatal(err)
	}
	d := Of(ran())
	d.Settings["hide"] = "vault,mine"
	want := []string{
		"run", "codex", "--repo=/home/ann/shop", "--branch=dark", "--model=qwen3", "--inference=scripted", "--max-tokens=5000", "--model-timeout=5m", "--hide=mine", "--clean",
		"--system=careful", "--verify=make test", "--verify-timeout=1m", "--env=TOKEN", "--prompt=mend it",
	}
	if got := d.Without(resolved, own).Words(nil); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if base, ok := Base(resolved, "codex", own).(*options); !ok || base.Effort != "low" || own.Effort != "" {
		t.Errorf("the options are %+v, and the defaults became %+v", base, own)
	}
}
