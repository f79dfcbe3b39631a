package agents

import (
	"errors"
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/golden"
	"aibox/internal/secret"

	"github.com/google/go-cmp/cmp"
)

var model = Inference{BaseURL: "http://10.200.200.1:11434", Key: "placeholder", Model: "qwen3:8b"}

func TestEveryAgentDescribesItselfAndHasValidOptions(t *testing.T) {
	seen := map[string]bool{}
	for _, agent := range Builtin().All() {
		info := agent.Info()
		if info.Name == "" || info.Title == "" || info.Summary == "" || info.Image == "" {
			t.Errorf("%T: a name, title, summary or image is missing: %+v", agent, info)
		}
		if seen[info.Name] {
			t.Errorf("two agents are called %q", info.Name)
		}
		seen[info.Name] = true
		if strings.HasSuffix(info.Summary, ".") {
			t.Errorf("%s: its summary ends in a full stop", info.Name)
		}
		for _, dir := range info.StateDirs {
			if !strings.HasPrefix(dir, "~/") {
				t.Errorf("%s: the state folder %q does not begin with ~/", info.Name, dir)
			}
		}
		if err := spec.Defaults(agent); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
	}
}

func TestFindSuggestsTheClosestAgent(t *testing.T) {
	for name, want := range map[string]string{
		"codx": `did you mean "codex"?`, "Codex": `did you mean "codex"?`, "open": `did you mean "opencode"?`,
		"bash": "the agents are " + strings.Join(Builtin().Names(), ", "), "": "the agents are opencode, ",
	} {
		_, err := Builtin().Find(name)
		if fault.KindOf(err) != fault.Usage {
			t.Fatalf("Find(%q) = %v, want a usage fault", name, err)
		}
		if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(hints, want) {
			t.Errorf("Find(%q) hints %q, want %q", name, hints, want)
		}
	}
	if agent, err := Builtin().Find("codex"); err != nil || agent.Info().Name != "codex" {
		t.Errorf("Find(codex) = %v, %v", agent, err)
	}
}

func TestFindReturnsANewAgentEachTime(t *testing.T) {
	first, err := Builtin().Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	first.(*Codex).ReasoningEffort = "high"
	second, err := Builtin().Find("codex")
	if err != nil || second.(*Codex).ReasoningEffort != "" {
		t.Errorf("a second codex has the options of the first: %+v, %v", second, err)
	}
}

// show prints an invocation for a golden file.
func show(inv Invocation) string {
	var out strings.Builder
	for _, word := range inv.Argv {
		out.WriteString("argv " + word + "\n")
	}
	for _, variable := range inv.Env {
		out.WriteString("env  " + variable + "\n")
	}
	for _, file := range inv.Files {
		out.WriteString("file " + file.Path + " " + file.Mode.String() + "\n" + string(file.Data) + "\n")
	}
	return out.String()
}

func TestInvocationsMatchTheGoldenFile(t *testing.T) {
	headless := Task{Prompt: `- mend the "test"`, Workdir: "/workspace", Inference: model}
	resumed, interactive, again := headless, headless, headless
	resumed.Resume = true
	interactive.Interactive = true
	again.Interactive, again.Resume, again.Prompt = true, true, ""
	for name, task := range map[string]Task{
		"headless": headless, "resumed": resumed, "interactive": interactive, "interactive-resumed": again,
	} {
		for _, agent := range []Agent{
			&Codex{ReasoningEffort: "high", Events: true, Config: []string{"a=1", "b=2"}},
			&OpenCode{Agent: "plan", Thinking: true, File: []string{"a b.txt", "c"}},
		} {
			inv, err := agent.Command(task)
			if err != nil {
				t.Errorf("%s %s: %v", agent.Info().Name, name, err)
				continue
			}
			golden.Check(t, agent.Info().Name+"-"+name+".golden", show(inv))
		}
	}
}

func TestShellRunsItsArgumentsUnchanged(t *testing.T) {
	want := []string{"make", "-j2", "--", "a b", ""}
	inv, err := (&Shell{}).Command(Task{Args: want})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, inv.Argv); diff != "" {
		t.Error(diff)
	}
	if len(inv.Env) != 0 || len(inv.Files) != 0 {
		t.Errorf("without a model and a prompt there is more than a command: %+v", inv)
	}
}

func TestShellWithoutACommandIsAShellOnlyOnATerminal(t *testing.T) {
	if _, err := (&Shell{}).Command(Task{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("headless = %v, want a usage fault", err)
	}
	inv, err := (&Shell{}).Command(Task{Interactive: true})
	if err != nil || len(inv.Argv) != 1 || inv.Argv[0] != "/bin/bash" {
		t.Errorf("interactive = %+v, %v", inv, err)
	}
}

func TestShellSetsTheUsualModelVariables(t *testing.T) {
	inv, err := (&Shell{}).Command(Task{Args: []string{"true"}, Inference: model, Prompt: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "shell.golden", show(inv))
}

func TestInvalidTaskIsRejectedInOneSentence(t *testing.T) {
	good := Task{Prompt: "p", Workdir: "/workspace", Inference: model}
	noModel, unnamed, noPrompt, nul, nulArg := good, good, good, good, good
	noModel.Inference = Inference{}
	unnamed.Inference.Model = ""
	noPrompt.Prompt = ""
	nul.Prompt = "a\x00b"
	nulArg.Args = []string{"a\x00b"}
	for name, task := range map[string]Task{
		"no model": noModel, "no model name": unnamed, "no prompt": noPrompt, "NUL": nul, "NUL in an argument": nulArg,
	} {
		for _, agent := range []Agent{&Codex{}, &OpenCode{}} {
			_, err := agent.Command(task)
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%s, %s: %v, want a usage fault", agent.Info().Name, name, err)
			}
		}
	}
}

func TestPromptTooLargeForAnArgumentIsPassedAsAFile(t *testing.T) {
	prompt := strings.Repeat("x", 1<<20)
	for _, agent := range []Agent{&Codex{}, &OpenCode{}} {
		for _, interactive := range []bool{false, true} {
			inv, err := agent.Command(Task{Prompt: prompt, Interactive: interactive, Workdir: "/workspace", Inference: model})
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range append(inv.Argv, inv.Env...) {
				if len(word) > 128<<10 {
					t.Errorf("%s, interactive %t: a word of %d bytes", agent.Info().Name, interactive, len(word))
				}
			}
			if len(inv.Files) != 1 || string(inv.Files[0].Data) != prompt || inv.Files[0].Mode != 0o600 {
				t.Errorf("%s, interactive %t: the prompt is in no file", agent.Info().Name, interactive)
			}
		}
	}
	_, err := (&Codex{}).Command(Task{Prompt: prompt + "x", Workdir: "/workspace", Inference: model})
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("a prompt that Codex refuses: %v, want a usage fault", err)
	}
}

func TestModelNameCannotBreakOutOfTheConfiguration(t *testing.T) {
	hostile := model
	hostile.Model = `x","permission":"ask` + "\n"
	config, err := (&OpenCode{}).config(Task{Inference: hostile})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(config, `"permission":"ask"`) || !strings.Contains(config, `"permission":"allow"`) {
		t.Error(config)
	}
}

func TestEveryDialectNameParses(t *testing.T) {
	for dialect, name := range dialectNames {
		var got Dialect
		if err := got.UnmarshalText([]byte(name)); err != nil || got != dialect || dialect.String() != name {
			t.Errorf("%v: %v, %v", name, got, err)
		}
	}
	var d Dialect
	if d.UnmarshalText([]byte("telepathy")) == nil {
		t.Error("an unknown dialect was read")
	}
}

func TestSecretReachesOnlyTheEnvironment(t *testing.T) {
	agent := &struct {
		Token secret.Value `label:"Token" help:"For its vendor" env:"TOKEN" secret:"true"`
	}{secret.New("canary")}
	argv, err := spec.Argv(agent, spec.Both)
	env, err2 := spec.Env(agent, spec.Both)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if len(argv) != 0 || !cmp.Equal(env, []string{"TOKEN=canary"}) {
		t.Errorf("argv %q, env %q", argv, env)
	}
}
