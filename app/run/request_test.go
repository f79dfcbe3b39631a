package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/session"
	"aibox/workspace"
)

// overrides are settings of a run itself.
func overrides(t testing.TB, texts map[string]string) config.RunOverrides {
	t.Helper()
	var o config.RunOverrides
	for key, text := range texts {
		if err := o.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func full(t testing.TB) Request {
	return Request{
		Agent: "codex", Repository: "/home/ann/shop", Branch: "dark", Interactive: true, Prompt: "mend it",
		Settings: overrides(t, map[string]string{"timeout": "30m", "hide": `*.key,"a,b"`, "clean": "true", "verify": "make test"}),
		Options:  map[string]string{"fast": "true", "effort": "low", "tone": "dry"}, Args: []string{"--verbose"},
	}
}

func TestARequestPrintsItsCommandLine(t *testing.T) {
	own := func(key string) bool { return key != "tone" }
	want := []string{
		"aibox", "run", "codex", "--repo=/home/ann/shop", "--branch=dark", "--interactive", "--timeout=30m", "--hide=*.key", `--hide="a,b"`, "--clean",
		"--verify=make test", "--effort=low", "--fast", "--set", "tone=dry", "--json", "--prompt=mend it", "--", "--verbose",
	}
	if got := full(t).CommandLine(own, "--json"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := (Request{}).CommandLine(nil); !slices.Equal(got, []string{"aibox", "run"}) {
		t.Errorf("nothing is printed as %q", got)
	}
	resumes := Request{Resumes: "0dq4f", NoFeedback: true, Detached: true}
	if got := resumes.CommandLine(nil); !slices.Equal(got, []string{"aibox", "run", "--resume=0dq4f", "--no-feedback", "--detach"}) {
		t.Errorf("got %q", got)
	}
}

func TestEverySettingOfARunIsInTheOrderOfForms(t *testing.T) {
	keys := SettingKeys()
	if len(keys) != len(config.RunFields()) {
		t.Errorf("the order is %q", keys)
	}
	for _, key := range keys {
		if _, err := spec.Find(config.RunFields(), key); err != nil {
			t.Error(err)
		}
	}
}

func TestACopyOfARequestSharesNothing(t *testing.T) {
	r, want := full(t), full(t)
	copied := r.Clone()
	if !copied.Equal(r) {
		t.Errorf("got %+v", copied)
	}
	copied.Options["fast"], copied.Args[0] = "false", "x"
	copied.Settings.Delete("clean")
	if !r.Equal(want) || copied.Equal(r) {
		t.Errorf("the first one became %+v", r)
	}
}

func TestLastChoicesAreRestoredWithoutTaskAndArguments(t *testing.T) {
	store := Open(filepath.Join(t.TempDir(), "choices"))
	if _, ok := store.Last("/home/ann/shop"); ok {
		t.Error("there are choices before any were made")
	}
	if err := store.Save(full(t)); err != nil {
		t.Fatal(err)
	}
	want := full(t)
	want.Prompt, want.Branch, want.Args = "", "", nil
	if got, ok := store.Last("/home/ann/shop"); !ok || !got.Equal(want) {
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

func TestAnInvalidFileOfChoicesCountsAsNone(t *testing.T) {
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
			d.CommandLine(nil)
		}
	})
}

// ran is a session with settings that differ from the built-in ones.
func ran(t testing.TB) session.Spec {
	t.Helper()
	s := session.Spec{ID: "0dq4f", Agent: "codex", Options: map[string]string{"effort": "low", "tone": "plain"}, Prompt: "mend it", Repository: "/home/ann/shop", Branch: "dark", Resumes: "0aaaa"}
	for _, field := range config.RunFields() {
		if err := field.Set(&s.Run, unusual(field)); err != nil {
			t.Fatal(err)
		}
	}
	s.Hide = append(workspace.DefaultHide(), s.Hide...)
	for _, name := range s.System {
		s.Prompts = append(s.Prompts, session.SystemPrompt{Name: name, Text: "…"})
	}
	s.System = nil // the record has the prompts instead
	return s
}

// unusual returns a value that is not the setting's default.
func unusual(field spec.Field) string {
	switch {
	case field.Key == "network":
		return "public"
	case field.Key == "secret":
		return "TOKEN=example.org:Authorization"
	case field.Key == "allow", field.Key == "deny", field.Key == "inspect":
		return "example.org"
	case field.Key == "sandboxes": // it has a lower maximum than the other numbers
		return "3"
	case len(field.Choices) > 0 && field.Choices[0] != field.Default:
		return field.Choices[0]
	case len(field.Choices) > 0:
		return field.Choices[1]
	case field.Type == spec.Bool:
		return "true"
	case field.Type == spec.Size:
		return "7MiB"
	case field.Type == spec.Int, field.Type == spec.Money, field.Type == spec.Decimal:
		return "64"
	case field.Type == spec.Duration:
		return "1m30s"
	default:
		return "mine"
	}
}

func fromSession(t testing.TB, s session.Spec) Request {
	t.Helper()
	r, err := FromSession(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestASessionIsRunAgainAsItWas(t *testing.T) {
	got := fromSession(t, ran(t))
	for _, field := range config.RunFields() {
		switch text := got.Settings.Text(field.Key); {
		case field.Inherit == spec.Never && text != "":
			t.Errorf("%s is taken over as %q", field.Key, text)
		case field.Inherit != spec.Never && text != unusual(field):
			t.Errorf("%s became %q", field.Key, text)
		}
	}
	got.Settings = config.RunOverrides{}
	want := Request{
		Agent: "codex", Options: map[string]string{"effort": "low", "tone": "plain"}, Prompt: "mend it", Repository: "/home/ann/shop", Branch: "dark",
	}
	if !got.Equal(want) {
		t.Errorf("got %+v", got)
	}
	closed := ran(t)
	closed.InferenceTools = nil
	if got := fromSession(t, closed).CommandLine(nil); !slices.Contains(got, "--inference-tools=") {
		t.Errorf("what was closed may be open: %q", got)
	}
}

func TestALimitThatWasLiftedIsRepeatedAsLifted(t *testing.T) {
	old := ran(t)
	old.StateSize, old.ModelTimeout, old.Pids = 0, 0, 0
	words := fromSession(t, old).CommandLine(nil)
	for _, want := range []string{"--state-size=0", "--model-timeout=0s", "--pids=0"} {
		if !slices.Contains(words, want) {
			t.Errorf("%s is not repeated: %q", want, words)
		}
	}
}

// The machine may enforce fewer limits now than when the user allowed that.
func TestAllowingDegradedLimitsIsNeverRepeated(t *testing.T) {
	if words := fromSession(t, ran(t)).CommandLine(nil); strings.Contains(strings.Join(words, " "), "degraded") {
		t.Errorf("a rerun allows it: %q", words)
	}
	store, d := Open(filepath.Join(t.TempDir(), "choices")), full(t)
	if err := d.Settings.Set("allow-degraded", "true"); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(d); err != nil {
		t.Fatal(err)
	}
	if got, ok := store.Last(d.Repository); !ok || got.Settings.Has("allow-degraded") || got.Settings.Text("timeout") != "30m" {
		t.Errorf("the last choices are %+v", got)
	}
	if d.Settings.Text("allow-degraded") != "true" {
		t.Error("the run that was saved lost it")
	}
}

// options are the options of an agent.
type options struct {
	Effort string `label:"Effort" help:"How hard it tries" choices:"low mid high"`
	Tone   string `label:"Tone" help:"How it talks" default:"plain"`
	Talk   bool   `label:"Talk" help:"Whether it talks" mode:"interactive"`
}

func TestRedundantSettingsAreLeftOut(t *testing.T) {
	text := "network = \"public\"\ntimeout = \"1m30s\"\nmodel = \"other\"\nhide = [\"mine\"]\npids = 64\ninference-tools = [\"web-search\"]\n[agents.codex]\neffort = \"low\"\n"
	own := new(options)
	if err := spec.Defaults(own); err != nil {
		t.Fatal(err)
	}
	resolved, err := config.Catalog{Agents: []config.Agent{{Name: "codex", Options: own}}}.Resolve(config.Input{User: userOf(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	d := fromSession(t, ran(t))
	if err := d.Settings.Append("hide", "yours"); err != nil {
		t.Fatal(err)
	}
	d.Options["talk"] = "true"
	got := d.Without(resolved, own)
	for _, key := range d.Settings.Keys() {
		gone := slices.Contains([]string{"network", "timeout", "pids", "inference-tools"}, key)
		if got.Settings.Has(key) == gone {
			t.Errorf("%s is left: %t", key, !gone)
		}
	}
	if !slices.Equal(got.Settings.Words("hide"), []string{"yours"}) || got.Settings.Text("model") != "mine" || len(got.Options) > 0 {
		t.Errorf("got %q, %q and %q", got.Settings.Words("hide"), got.Settings.Text("model"), got.Options)
	}
	if base, ok := Base(resolved, "codex", own).(*options); !ok || base.Effort != "low" || own.Effort != "" {
		t.Errorf("the options are %+v, and the defaults became %+v", base, own)
	}
}

func TestASwitchThatAFormTurnsOffIsPrintedAsFalse(t *testing.T) {
	filled := &struct {
		Trust bool `label:"Trust" help:"Whether it trusts the folder"`
	}{}
	own := func(string) bool { return true }
	got := Request{Agent: "codex"}.WithOptions(map[string]string{"trust": "true"}, filled).CommandLine(own)
	if want := []string{"aibox", "run", "codex", "--trust=false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
