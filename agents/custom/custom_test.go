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

// small is the least that is an agent.
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

func TestTheExampleIsAnAgentLikeAnyOther(t *testing.T) {
	d, err := Parse(ExampleName, Example)
	if err != nil {
		t.Fatal(err)
	}
	all, err := agents.Builtin().With(d.Make)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := all.Find(ExampleName)
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

func TestEveryRunHasOptionsOfItsOwn(t *testing.T) {
	d, err := Parse(ExampleName, Example)
	if err != nil {
		t.Fatal(err)
	}
	first, second := d.Make(), d.Make()
	set(t, first, "turns", "9")
	if fields, _ := spec.Of(agents.Options(second)); fields[1].Text(agents.Options(second)) != "20" {
		t.Error("an option of one run is set in another")
	}
}

func TestWordsWithoutAValueAreLeftOutTogether(t *testing.T) {
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

func TestATaskOfAnySizeArrivesWhole(t *testing.T) {
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

func TestWhatAnAgentCannotDoIsAUsageFault(t *testing.T) {
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

func TestASecretReachesTheEnvironmentAlone(t *testing.T) {
	bot := parsed(t, small+"[[option]]\nkey = \"token\"\nlabel = \"Token\"\nhelp = \"Its key\"\ntype = \"secret\"\nenv = \"BOT_TOKEN\"\n").Make()
	set(t, bot, "token", "canary")
	inv, err := bot.Command(agents.Task{Prompt: "p"})
	if err != nil || !slices.Equal(inv.Env, []string{"BOT_TOKEN=canary"}) || strings.Contains(fmt.Sprint(inv.Argv, inv.Files), "canary") {
		t.Errorf("%+v, %v", inv, err)
	}
}

func TestTheRecipeStandsOnTheBase(t *testing.T) {
	with := func(image string) *Definition {
		return parsed(t, "version = \"1.0\"\n"+small+"[image]\n"+image)
	}
	if d := parsed(t, small); d.Recipe() != "" || d.Info().Image != Base {
		t.Errorf("without an image: %q, %q", d.Recipe(), d.Info().Image)
	}
	if d := with("from = \"base\""); d.Recipe() != "" || d.Info().Image != Base {
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

// problems are all that Parse finds in a file.
func problems(t *testing.T, name, text string) []Problem {
	t.Helper()
	_, err := Parse(name, []byte(text))
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
		t.Fatalf("%q was taken: %v", text, err)
	}
	return wrong.Problems
}

func TestEachMistakeIsToldWithItsPlaceAndAWayOut(t *testing.T) {
	option := func(lines string) string {
		return strings.Replace(small, `"{prompt}"`, `"{options}", "{prompt}"`, 1) + "[[option]]\nkey = \"loud\"\nlabel = \"Loud\"\nhelp = \"Louder\"\n" + lines + "\n"
	}
	talking := func(headless string) string {
		return "title = \"B\"\nsummary = \"B\"\nspeaks = [\"openai-chat\"]\n[command]\nheadless = " + headless + "\n"
	}
	for _, test := range []struct{ text, want, hint string }{
		{"title = ", "line 1, column 8: not TOML: ", ""},
		{"title = \"a\"\ntitle = \"b\"\n", "line 2, column 1: not TOML: key title is already defined", ""},
		{"title = 1\n" + small[14:], "line 1, column 1: title is a text in quotes, not a number", ""},
		{"titel = \"B\"\n" + small, `line 1, column 1: unknown key "titel" at the top of the file`, `did you mean "title"?`},
		{"headless = []\n" + small, `line 1, column 1: unknown key "headless" at the top of the file`, `"headless" belongs into [command]`},
		{small + "title = \"x\"\n", `line 5, column 1: unknown key "title" in [command]`, `"title" belongs to the top of the file, above every [table]`},
		{small + "[imag]\n", `line 5, column 2: unknown key "imag" at the top of the file`, `did you mean "image"?`},
		{small + "[option]\nkey = \"x\"\n", "line 5, column 2: option is written [[option]], once for each", ""},
		{small + "[[env]]\nA = \"x\"\n", "line 5, column 3: env is a table, written [env] once", ""},
		{"title = \"B\"\n[command]\nheadless = [\"b\"]\n", "summary is missing", `summary = "Mends small things"`},
		{"title = \"B\"\nsummary = \"B\"\n", "there is no [command]", `headless = `},
		{"title = \"B\\u001b[31m\"\n" + small[14:], "line 1, column 1: title holds what cannot be printed on one line", ""},
		{"title = \" \"\n" + small[14:], "line 1, column 1: title is empty", ""},
		{small + "[env]\nA = \"a\\u0000\"\n", "line 6, column 1: A holds a NUL character", ""},
		{small + "[env]\n\"A B\" = \"a\"\n", `line 6, column 1: "A B" is no name for a variable`, ""},
		{small + "[env]\nA = \"{prompt}\"\n", "line 6, column 1: {prompt} cannot stand in A", "use {prompt_file}"},
		{small + "[env]\nA = \"{options}\"\n", "line 6, column 1: {options} cannot stand in A", "belongs into a command"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", \"{promt}\"]\n", "line 4, column 18: headless: there is no placeholder {promt}", "did you mean {prompt}?"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", \"{zebra}\"]\n", "line 4, column 18: headless: there is no placeholder {zebra}", "write {{zebra}}"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", [\"-x\", \"{model}\"]]\n", "line 4, column 25: {model} needs a model", `speaks = ["openai-chat"]`},
		{talking(`["b", "{prompt}"]`), "line 3, column 1: the agent speaks openai-chat, and nothing tells it in headless where the model is", "{openai}"},
		{strings.Replace(talking(`["b", "{openai}"]`), "openai-chat", "openai", 1), `line 3, column 11: there is no dialect "openai"`, `did you mean "openai-chat"?`},
		{strings.Replace(talking(`["b", "{openai}"]`), `["openai-chat"]`, `["gemini", "gemini"]`, 1), "line 3, column 21: speaks names gemini twice", ""},
		{talking(`["b", "x{args}", "{openai}"]`), "line 5, column 18: {args} stands for any number of words", ""},
		{talking(`[]`), "line 5, column 1: headless is empty", ""},
		{talking(`["b --yes", "{openai}"]`), `line 5, column 13: "b --yes" is no program`, "no shell reads it"},
		{talking(`["{model}", "{openai}"]`), "line 5, column 13: the first word of headless is the program", ""},
		{talking(`"b {openai}"`), "line 5, column 1: headless is a list in brackets, not a text", ""},
		{talking(`["b", "{openai}", 3]`), "line 5, column 30: headless is a text in quotes, not a number", ""},
		{talking(`["b", "{openai}", []]`), "line 5, column 1: headless holds an empty list", ""},
		{talking(`["sh", "-ec", "b {prompt}", "{openai}"]`), "line 5, column 26: sh would read {prompt} as code", `exec my-bot "$1"`},
		{talking(`["b", "{openai}", "{prompt}"]`) + "stdin = \"prompt\"\n", "line 5, column 1: headless would get the task twice", `stdin = "prompt"`},
		{small + "stdin = \"yes\"\n", `line 5, column 1: stdin is "prompt" or "none", not "yes"`, ""},
		{small + "resume = [\"bot\", \"-c\", \"{prompt}\"]\n", "line 5, column 1: resume needs the folder", `state = ["~/.bot"]`},
		{"state = [\"/root/.bot\"]\n" + small, `line 1, column 10: "/root/.bot" is no path below the home`, "~/.my-bot"},
		{"state = [\"~/../x\"]\n" + small, `line 1, column 10: "~/../x" is no path below the home`, ""},
		{"state = [\"~/\"]\n" + small, `line 1, column 10: "~/" is no path below the home`, ""},
		{"hosts = [\"https://x\"]\n" + small, `line 1, column 10: "https://x" is no host name`, ""},
		{"homepage = \"example.com\"\n" + small, `line 1, column 1: "example.com" is no http or https address`, ""},
		{"version = \"latest\"\n" + small, `line 1, column 1: "latest" is not a version`, "starts with a digit"},
		{small + "[exit]\n0 = \"fine\"\n", `line 6, column 1: "0" is no exit code from 1 to 255`, ""},
		{small + "[image]\nfrom = \"-x\"\n", `line 6, column 1: "-x" is not the name of an image`, `from = "base"`},
		{small + "[image]\nrun = [\"a@$VERSION\"]\n", "line 6, column 8: run uses $VERSION, and the file has no version", `version = "1.2.3"`},
		{small + "[image]\nrun = [\"" + strings.Repeat("x", maxScript) + "\"]\n", "line 6, column 8: a script of run has at most", "part it"},
		{small + "[image]\ndockerfile = \"FROM debian\"\n", `line 6, column 1: the dockerfile begins with "FROM debian" and not with ARG BASE`, "FROM ${BASE}"},
		{small + "[image]\nfrom = \"base\"\ndockerfile = \"ARG BASE\"\n", "line 6, column 1: from and dockerfile were both given", "keep one of them"},
		{"version = \"2.0\"\n" + small + "[image]\ndockerfile = \"ARG BASE\\nARG VERSION=1.0\\n\"\n", "line 7, column 1: the dockerfile pins version 1.0, and version says 2.0", ""},
		{small + "[[file]]\npath = \"/etc/passwd\"\ntext = \"\"\n", `line 6, column 1: "/etc/passwd" is no path below the home`, ""},
		{small + "[[file]]\npath = \"~/x\"\ntext = \"\"\nmode = \"u+x\"\n", `line 8, column 1: "u+x" are no permissions`, "0755"},
		{small + "[[file]]\npath = \"~/x\"\ntext = \"\"\n[[file]]\npath = \"~/x\"\ntext = \"\"\n", "line 9, column 1: there are two files ~/x", ""},
		{option(`flag = "loud"`), `line 5, column 3: option "loud": key "flag": "loud" does not begin with a dash`, ""},
		{option(`type = "boolean"`), `line 5, column 3: option "loud": `, ""},
		{option("type = \"secret\"\nflag = \"--x\""), `line 5, column 3: option "loud": key "flag": a secret never`, ""},
		{option("type = \"int\"\nflag = \"--x\"\nmin = 5\ndefault = 3"), `line 5, column 3: option "loud": key "default": `, ""},
		{option("type = \"choice\"\nflag = \"--x\"\nchoices = [\"a b\"]"), `line 11, column 12: the choice "a b" is not one word`, ""},
		{option("when = \"quiet\"\nflag = \"--x\""), `line 5, column 3: option "loud": key "when": there is no option "quiet"`, ""},
		{option(""), `line 5, column 3: the option "loud" has neither a flag nor an env`, ""},
		{option("flag = \"--loud\"\n[[option]]\nkey = \"loud\"\nlabel = \"L\"\nhelp = \"h\"\nflag = \"--l\""), `line 10, column 3: option "loud" stands twice`, ""},
		{small + "[[option]]\nkey = \"x\"\nlabel = \"L\"\nhelp = \"h\"\nflag = \"--x\"\n", "line 4, column 1: headless has no {options}", "{options}"},
		{small + "[env]\nLOUD = \"1\"\n[[option]]\nkey = \"x\"\nlabel = \"L\"\nhelp = \"h\"\nenv = \"LOUD\"\n", "line 6, column 1: LOUD is the variable of an option, too", ""},
		{small + "[exit]\n" + counted("%d = \"x\"\n"), "line 5, column 2: [exit] has more than 500 keys", ""},
		{small + counted("[[file]]\n#%d\n"), "line 5, column 3: there are more than 500 of [[file]]", ""},
		{"notes = [" + counted("\"%d\",") + "]\n" + small, "line 1, column 1: notes has more than 500 elements", ""},
		{strings.Repeat("#", MaxFile+1), "an agent file has at most 256 KiB", ""},
	} {
		found := problems(t, "bot", test.text)
		if !slices.ContainsFunc(found, func(p Problem) bool {
			return strings.HasPrefix(p.String(), test.want) && strings.Contains(p.Hint, test.hint)
		}) {
			t.Errorf("%.200s\nwant %s\nhint %s\ngot  %q", test.text, test.want, test.hint, found)
		}
	}
}

// counted is more of one thing than a file may hold.
func counted(format string) string {
	var out strings.Builder
	for i := range most + 1 {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

func TestAllMistakesAreToldAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := Parse("bot", []byte("title = 3\nfoo = 1\n[command]\nheadles = [\"a\"]\n"))
	want := "line 1, column 1: title is a text in quotes, not a number (and 4 more problems)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	found := problems(t, "bot", "title = 3\nfoo = 1\n[command]\nheadles = [\"a\"]\n")
	if both := problems(t, "bot", "titel = \"B\"\n"+small+"[env]\nA = \"{promt}\"\n"); len(both) != 2 {
		t.Errorf("an unknown key hides another mistake: %q", both)
	}
	for i := range found[1:] {
		if found[i].Line > found[i+1].Line && found[i+1].Line > 0 {
			t.Errorf("line %d stands before line %d", found[i].Line, found[i+1].Line)
		}
	}
}

func TestANameFitsAllPlacesWhereItStands(t *testing.T) {
	for _, name := range []string{"", "Bot", "3bot", "bot-", "a--b", "a_b", "a b", "../bot", "base", "debian", strings.Repeat("x", 33)} {
		if _, err := Parse(name, []byte(small)); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	for _, name := range []string{"b", "my-bot", "bot2", "a-2"} {
		if _, err := Parse(name, []byte(small)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTheTemplateParsesAndSoDoesEachKeyInIt(t *testing.T) {
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

func TestEveryTypeAndEveryTagOfAnOptionIsAKeyOfTheFile(t *testing.T) {
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
