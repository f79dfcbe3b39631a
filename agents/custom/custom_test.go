package custom

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/fault"

	"github.com/google/go-cmp/cmp"
)

// small is the smallest valid agent file.
const small = "title = \"Bot\"\nsummary = \"A bot\"\n[command]\nheadless = [\"bot\", \"{prompt}\"]\n"

var model = agents.Inference{BaseURL: "http://10.200.200.1:11434", Key: "placeholder", Model: `qwen"3`}

func parsed(t *testing.T, text string) *Definition {
	t.Helper()
	d, err := Parse("bot", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// set gives an option of the agent a value.
func set(t *testing.T, agent agents.Agent, key, value string) {
	t.Helper()
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		t.Fatal(err)
	}
	field, err := spec.Find(fields, key)
	if err == nil {
		err = field.Set(agents.Options(agent), value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestExampleIsAValidAgent(t *testing.T) {
	d, err := Parse("mybot", Example)
	if err != nil {
		t.Fatal(err)
	}
	all, err := agents.Builtin().With(d.Make)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := all.Find("mybot")
	if err != nil {
		t.Fatal(err)
	}
	set(t, bot, "loud", "true")
	set(t, bot, "turns", "7")
	inv, err := bot.Command(agents.Task{Prompt: "-go \"on\"\n", Instructions: "# Limits", Inference: model, Args: []string{"a b"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/bin/sh", "-c", `exec "$@" </run/aibox/prompt`, "sh",
		"mybot", "--model", `qwen"3`, "--instructions", "/run/aibox/instructions.md", "--loud", "--turns", "7", "a b",
	}
	if diff := cmp.Diff(want, inv.Argv); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"OPENAI_BASE_URL=http://10.200.200.1:11434/openai/v1", "OPENAI_API_KEY=placeholder"}, inv.Env); diff != "" {
		t.Error(diff)
	}
	if len(inv.Files) != 2 || string(inv.Files[0].Data) != "# Limits" || string(inv.Files[1].Data) != "-go \"on\"\n" {
		t.Errorf("files: %+v", inv.Files)
	}
	if got := agents.Meaning(bot, 3); got != "it used up its turns" {
		t.Errorf("exit code 3 means %q", got)
	}
}

func TestEveryRunHasItsOwnOptions(t *testing.T) {
	d, err := Parse("mybot", Example)
	if err != nil {
		t.Fatal(err)
	}
	first, second := d.Make(), d.Make()
	set(t, first, "turns", "9")
	if fields, _ := spec.Of(agents.Options(second)); fields[1].Text(agents.Options(second)) != "20" {
		t.Error("an option of one run is set in another")
	}
}

func TestWordsWithoutAValueAreOmittedTogether(t *testing.T) {
	d := parsed(t, `
title = "Bot"
summary = "A bot."
speaks = ["openai-chat", "anthropic"]
state = ["~/.bot"]
[command]
headless = ["bot", ["--context", "{context}"], "--base={endpoint}", "{prompt}"]
interactive = ["bot", ["-i", "{prompt}"], ["--rules", "{instructions_file}"], "{args}"]
resume = ["bot", "--go-on", "{prompt}"]
[env]
SIZE = "n={context}"
MODEL = "{dialect}:{model}"
PLAIN = "{{model}} {\"a\":1} ${HOME}"
[[file]]
path = "~/.bot/config"
mode = "0640"
text = '{"model": {model:json}, "task": {prompt:json}, "base": "{openai}"}'
`)
	if d.Info().Summary != "A bot" {
		t.Errorf("the summary is %q", d.Info().Summary)
	}
	task := agents.Task{Prompt: "do\nit", Inference: model}
	inv, err := d.Make().Command(task)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bot", "--base=http://10.200.200.1:11434/openai/v1", "do\nit"}; !slices.Equal(inv.Argv[4:], want) || inv.Argv[2] != `exec "$@" </dev/null` {
		t.Errorf("headless: %q", inv.Argv)
	}
	if want := []string{`MODEL=openai-chat:qwen"3`, `PLAIN={model} {"a":1} ${HOME}`}; !slices.Equal(inv.Env, want) {
		t.Errorf("environment: %q", inv.Env)
	}
	config := `{"model": "qwen\"3", "task": "do\nit", "base": "http://10.200.200.1:11434/openai/v1"}`
	if len(inv.Files) != 1 || inv.Files[0].Path != "~/.bot/config" || inv.Files[0].Mode != 0o640 || string(inv.Files[0].Data) != config {
		t.Errorf("files: %+v", inv.Files)
	}

	task.Inference.Context, task.Inference.Speaks = 8192, []agents.Dialect{agents.Anthropic}
	if inv, err = d.Make().Command(task); err != nil {
		t.Fatal(err)
	}
	if want := []string{"bot", "--context", "8192", "--base=http://10.200.200.1:11434/anthropic", "do\nit"}; !slices.Equal(inv.Argv[4:], want) {
		t.Errorf("headless with another dialect: %q", inv.Argv)
	}
	if !slices.Contains(inv.Env, "SIZE=n=8192") {
		t.Errorf("environment: %q", inv.Env)
	}

	typed := agents.Task{Interactive: true, Inference: model, Args: []string{"-x", ""}}
	if inv, err = d.Make().Command(typed); err != nil || !slices.Equal(inv.Argv, []string{"bot", "-x", ""}) {
		t.Errorf("interactive without a prompt: %q, %v", inv.Argv, err)
	}
	typed.Prompt, typed.Instructions = "hi", "rules"
	if inv, err = d.Make().Command(typed); err != nil || !slices.Equal(inv.Argv, []string{"bot", "-i", "hi", "--rules", "/run/aibox/instructions.md", "-x", ""}) {
		t.Errorf("interactive: %q, %v", inv.Argv, err)
	}
	again := agents.Task{Resume: true, Prompt: "more", Instructions: "rules", Inference: model}
	if inv, err = d.Make().Command(again); err != nil || !slices.Equal(inv.Argv[4:], []string{"bot", "--go-on", "rules\n\n---\n\nmore"}) {
		t.Errorf("resumed: %q, %v", inv.Argv, err)
	}
}

func TestTaskOfAnySizeArrivesWhole(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, command := range map[string]string{
		"argument": `headless = ["bot", "--task={prompt}"]`,
		"file":     `headless = ["bot", "{prompt_file}"]`,
		"input":    "headless = [\"bot\"]\nstdin = \"prompt\"",
	} {
		inv, err := parsed(t, "title = \"B\"\nsummary = \"B\"\n[command]\n"+command).Make().Command(agents.Task{Prompt: long})
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range inv.Argv {
			if len(word) > 128<<10 {
				t.Errorf("%s: a word of %d bytes", name, len(word))
			}
		}
		if len(inv.Files) != 1 || inv.Files[0].Path != agents.PromptPath || string(inv.Files[0].Data) != long || inv.Files[0].Mode != 0o600 {
			t.Errorf("%s: the task is in no file", name)
		}
	}
}

func TestUnsupportedFeatureIsAUsageFault(t *testing.T) {
	bot := parsed(t, small).Make()
	for name, task := range map[string]agents.Task{
		"no prompt":         {},
		"NUL":               {Prompt: "a\x00b"},
		"on a terminal":     {Prompt: "p", Interactive: true},
		"a conversation":    {Prompt: "p", Resume: true},
		"arguments":         {Prompt: "p", Args: []string{"x"}},
		"both, on and back": {Interactive: true, Resume: true},
	} {
		if _, err := bot.Command(task); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
	fixed := parsed(t, "title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"bot\"]\n").Make()
	if _, err := fixed.Command(agents.Task{}); err != nil {
		t.Errorf("an agent that needs no task: %v", err)
	}
	if _, err := fixed.Command(agents.Task{Prompt: "p"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a task for an agent that takes none: %v", err)
	}
	talking := parsed(t, "title = \"B\"\nsummary = \"B\"\nspeaks = [\"gemini\"]\n[command]\nheadless = [\"bot\", \"{gemini}\"]\n").Make()
	if _, err := talking.Command(agents.Task{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("without a model: %v", err)
	}
}

func TestSecretReachesOnlyTheEnvironment(t *testing.T) {
	bot := parsed(t, small+"[[option]]\nkey = \"token\"\nlabel = \"Token\"\nhelp = \"Its key\"\ntype = \"secret\"\nenv = \"BOT_TOKEN\"\n").Make()
	set(t, bot, "token", "canary")
	inv, err := bot.Command(agents.Task{Prompt: "p"})
	if err != nil || !slices.Equal(inv.Env, []string{"BOT_TOKEN=canary"}) || strings.Contains(fmt.Sprint(inv.Argv, inv.Files), "canary") {
		t.Errorf("%+v, %v", inv, err)
	}
}

func TestRecipeBuildsOnTheBase(t *testing.T) {
	with := func(image string) *Definition {
		return parsed(t, "version = \"1.0\"\n"+small+"[image]\n"+image)
	}
	if d := parsed(t, small); d.Recipe() != "" || d.Info().Image != base {
		t.Errorf("without an image: %q, %q", d.Recipe(), d.Info().Image)
	}
	if d := with("from = \"base\""); d.Recipe() != "" || d.Info().Image != base {
		t.Errorf("the base alone: %q, %q", d.Recipe(), d.Info().Image)
	}
	got := with("run = [\"echo a\\necho \\\"$VERSION\\\" >&2 <<END\", 'echo b']").Recipe()
	want := "# Made of bot.toml.\nARG BASE\nFROM ${BASE}\nARG VERSION=1.0\n" + registries +
		"RUN " + caches + `["/bin/sh","-euc","echo a\necho \"$VERSION\" >&2 \u003c\u003cEND"]` + "\nRUN " + caches + `["/bin/sh","-euc","echo b"]` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := with("from = \"docker.io/library/python:3.12-slim\"\nrun = [\"echo\"]").Recipe(); !strings.Contains(got, "\nFROM docker.io/library/python:3.12-slim\n") || strings.Contains(got, "--mount") {
		t.Errorf("from another image: %s", got)
	}
	whole := "# mine\n\nARG BASE\nFROM ${BASE}\nARG VERSION=1.0\n"
	if d := with("dockerfile = '''\n" + whole + "'''"); d.Recipe() != whole || d.Info().Image != "bot" {
		t.Errorf("a whole dockerfile: %q, %q", d.Recipe(), d.Info().Image)
	}
}

func TestTemplateAndEachOfItsKeysParse(t *testing.T) {
	text := string(Template("robo"))
	if _, err := Parse("robo", []byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.name != "" && !strings.Contains(text, "\n"+k.name+" = ") && !strings.Contains(text, "\n#: "+k.name+" = ") {
			t.Errorf("the template has no %s", k.name)
		}
	}
	top, rest, _ := strings.Cut(text, "\n# The image it runs in")
	for _, part := range []string{strings.ReplaceAll(top, "\n#: ", "\n"), top} {
		if _, err := Parse("robo", []byte(part+"\n# The image it runs in"+rest)); err != nil {
			t.Errorf("%v in\n%s", err, part)
		}
	}
	commands := strings.ReplaceAll(strings.ReplaceAll(text, "\n#: state", "\nstate"), "\n#: interactive", "\ninteractive")
	for _, key := range []string{"resume", "resume_interactive", "stdin"} {
		commands = strings.Replace(commands, "\n#: "+key+" = ", "\n"+key+" = ", 1)
	}
	for _, section := range []string{"[exit]\n#: ", "[[file]]\n"} {
		commands = strings.Replace(commands, "\n#: "+section, "\n"+strings.TrimSuffix(section, "#: "), 1)
	}
	if _, err := Parse("robo", []byte(strings.NewReplacer("\n#: path", "\npath", "\n#: mode = \"0", "\nmode = \"0", "\n#: text", "\ntext").Replace(commands))); err != nil {
		t.Errorf("with its optional parts: %v", err)
	}
}

func TestEveryOptionTypeAndTagIsAFileKey(t *testing.T) {
	help, _ := find("option", "type")
	for kind := spec.String; kind <= spec.Secret; kind++ {
		if !strings.Contains(help.help, kind.String()) {
			t.Errorf("the help of type does not name %s", kind)
		}
	}
	if err := func() error {
		_, err := spec.Struct([]spec.Definition{{Key: "x", Tags: map[string]string{"nonsense": "x"}}})
		return err
	}(); err == nil {
		t.Error("a tag that does not exist was taken")
	}
	for _, name := range names("option") {
		if name == "key" || name == "type" {
			continue
		}
		_, err := spec.Struct([]spec.Definition{{Key: "x", Tags: map[string]string{name: "x"}}})
		if err == nil || strings.Contains(err.Error(), "unknown tag") {
			t.Errorf("package spec does not know %q: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("mybot", Example)
	f.Add("bot", []byte(small))
	f.Add("robo", Template("robo"))
	f.Add("x", []byte("[[option]]\n[[option]]\nkey='x'\n[option.y]\n"))
	f.Add("x", []byte("a.b=1\na={c=[[1],{d=2}]}\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		d, err := Parse(name, data)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Error() == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if info := d.Info(); info.Name != name || info.Title == "" || strings.ContainsAny(info.Title+info.Summary, "\x00\x1b\n") {
			t.Errorf("%+v", info)
		}
		for way := range d.starts {
			task := agents.Task{Prompt: "p", Interactive: way.interactive, Resume: way.resume, Workdir: "/workspace", Inference: model, Instructions: "i"}
			inv, err := d.Make().Command(task)
			if err != nil {
				continue
			}
			if len(inv.Argv) == 0 || slices.ContainsFunc(slices.Concat(inv.Argv, inv.Env), func(s string) bool { return strings.ContainsRune(s, 0) }) {
				t.Errorf("%q %q", inv.Argv, inv.Env)
			}
		}
	})
}

func TestAByteOrderMarkInADockerfileIsNamed(t *testing.T) {
	_, err := Parse("bot", []byte(small+"[image]\ndockerfile = \"\\uFEFFARG BASE\\nFROM ${BASE}\\n\"\n"))
	if err == nil || !strings.Contains(err.Error(), "begins with a byte order mark") {
		t.Error(err)
	}
}
