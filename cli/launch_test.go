package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/fault"
)

// options are flags that make a good launch, changed by change.
func options(change func(*runOptions)) *runOptions {
	o := &runOptions{agent: "codex", prompt: "mend it", repo: ".", Run: config.Run{Network: "local", Inference: "scripted", Accept: "none"}}
	change(o)
	return o
}

func noInput(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestABadRequestIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	bad := map[string]func(*runOptions){
		"no agent":               func(o *runOptions) { o.agent = "" },
		"unknown agent":          func(o *runOptions) { o.agent = "codx" },
		"no prompt":              func(o *runOptions) { o.prompt = "" },
		"two prompts":            func(o *runOptions) { o.promptFile = "x" },
		"missing prompt file":    func(o *runOptions) { o.prompt, o.promptFile = "", "no/such/file" },
		"huge prompt":            func(o *runOptions) { o.prompt = strings.Repeat("x", maxPrompt+1) },
		"unknown option":         func(o *runOptions) { o.set = []string{"shade=red"} },
		"option without a value": func(o *runOptions) { o.set = []string{"events"} },
		"impossible choice":      func(o *runOptions) { o.set = []string{"reasoning-effort=some"} },
		"option without effect":  func(o *runOptions) { o.agent, o.set = "aider", []string{"editor-model=x"} },
		"unset variable":         func(o *runOptions) { o.Env = []string{"AIBOX_NO_SUCH_VARIABLE"} },
		"nameless variable":      func(o *runOptions) { o.Env = []string{"=x"} },
		"unknown delivery":       func(o *runOptions) { o.Accept = "everything" },
		"negative time":          func(o *runOptions) { o.Timeout = -1 },
		"negative patience":      func(o *runOptions) { o.ModelTimeout = -1 },
		"detached delivery":      func(o *runOptions) { o.detach, o.Accept = true, "branch" },
	}
	for name, change := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := options(change).launch(agents.Builtin(), noInput(t))
			if err == nil || fault.KindOf(err) != fault.Usage {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestALaunchKeepsSecretsOutOfTheSpec(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary-key")
	t.Setenv("GOOGLE_API_KEY", "canary-second")
	t.Setenv("TOKEN", "canary-token")
	launch, err := options(func(o *runOptions) { o.Env = []string{"TOKEN", "PLAIN=value"} }).launch(agents.Builtin(), noInput(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(launch.Env, []string{"TOKEN=canary-token", "PLAIN=value"}) || launch.Keys["OPENAI_API_KEY"] != "canary-key" || launch.Keys["GOOGLE_API_KEY"] != "canary-second" {
		t.Errorf("env %q, keys %q", launch.Env, launch.Keys)
	}
	var spec strings.Builder
	if err := printJSON(&spec, launch.Spec); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(spec.String(), "canary") || !slices.Equal(launch.Spec.Env, []string{"TOKEN", "PLAIN"}) {
		t.Errorf("the spec is %s", spec.String())
	}
}

func TestThePromptComesFromTheFlagTheFileOrTheInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "task.md")
	if err := os.WriteFile(file, []byte("from the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	for want, o := range map[string]*runOptions{
		"from the flag": {prompt: "from the flag"},
		"from the file": {promptFile: file},
		"":              {},
	} {
		if got, err := o.readPrompt(noInput(t), false); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := new(runOptions).readPrompt(input, true); got != "from the file" || err != nil {
		t.Errorf("standard input gave %q, %v", got, err)
	}
}

func TestAScriptsPathIsMadeAbsoluteAndNothingElse(t *testing.T) {
	for given, want := range map[string]string{"scripted": "scripted", "scripted:demo": "scripted:demo", "http://127.0.0.1:1/v1": "http://127.0.0.1:1/v1"} {
		if got, err := absoluteScript(given); got != want || err != nil {
			t.Errorf("%q became %q, %v", given, got, err)
		}
	}
	if got, err := absoluteScript("scripted:./task.toml"); err != nil || !filepath.IsAbs(strings.TrimPrefix(got, "scripted:")) {
		t.Errorf("got %q, %v", got, err)
	}
}
