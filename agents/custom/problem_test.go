package custom

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// problems returns all problems that Parse finds in a file.
func problems(t *testing.T, name, text string) []Problem {
	t.Helper()
	_, err := Parse(name, []byte(text))
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
		t.Fatalf("%q was taken: %v", text, err)
	}
	return wrong.Problems
}

func TestEachProblemHasAPositionAndAFix(t *testing.T) {
	option := func(lines string) string {
		return strings.Replace(small, `"{prompt}"`, `"{options}", "{prompt}"`, 1) + "[[option]]\nkey = \"loud\"\nlabel = \"Loud\"\nhelp = \"Louder\"\n" + lines + "\n"
	}
	talking := func(headless string) string {
		return "title = \"B\"\nsummary = \"B\"\nspeaks = [\"openai-chat\"]\n[command]\nheadless = " + headless + "\n"
	}
	for _, test := range []struct{ text, want, hint string }{
		{"title = ", "line 1, column 8: not TOML: ", ""},
		{"title = \"a\"\ntitle = \"b\"\n", "line 2, column 1: not TOML: key title is already defined", ""},
		{"title = 1\n" + small[14:], "line 1, column 1: title must be a quoted string, not a number", ""},
		{"titel = \"B\"\n" + small, `line 1, column 1: unknown key "titel" at the top of the file`, `did you mean "title"?`},
		{"headless = []\n" + small, `line 1, column 1: unknown key "headless" at the top of the file`, `"headless" belongs in [command]`},
		{small + "title = \"x\"\n", `line 5, column 1: unknown key "title" in [command]`, `"title" belongs at the top of the file, above every [table]`},
		{small + "[imag]\n", `line 5, column 2: unknown key "imag" at the top of the file`, `did you mean "image"?`},
		{small + "[option]\nkey = \"x\"\n", "line 5, column 2: write option as [[option]], once for each entry", ""},
		{small + "[[env]]\nA = \"x\"\n", "line 5, column 3: env is a table: write [env] once", ""},
		{"title = \"B\"\n[command]\nheadless = [\"b\"]\n", "summary is missing", `summary = "Fixes small things"`},
		{"title = \"B\"\nsummary = \"B\"\n", "there is no [command]", `headless = `},
		{"title = \"B\\u001b[31m\"\n" + small[14:], "line 1, column 1: title must be one line of printable characters", ""},
		{"title = \" \"\n" + small[14:], "line 1, column 1: title is empty", ""},
		{small + "[env]\nA = \"a\\u0000\"\n", "line 6, column 1: A contains a NUL character", ""},
		{small + "[env]\n\"A B\" = \"a\"\n", `line 6, column 1: "A B" is not a variable name`, ""},
		{small + "[env]\nA = \"{prompt}\"\n", "line 6, column 1: {prompt} cannot be used in A", "use {prompt_file}"},
		{small + "[env]\nA = \"{options}\"\n", "line 6, column 1: {options} cannot be used in A", "use it only in a command"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", \"{promt}\"]\n", "line 4, column 18: headless: there is no placeholder {promt}", "did you mean {prompt}?"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", \"{zebra}\"]\n", "line 4, column 18: headless: there is no placeholder {zebra}", "write {{zebra}}"},
		{"title = \"B\"\nsummary = \"B\"\n[command]\nheadless = [\"b\", [\"-x\", \"{model}\"]]\n", "line 4, column 25: {model} needs a model", `speaks = ["openai-chat"]`},
		{talking(`["b", "{prompt}"]`), "line 3, column 1: the agent speaks openai-chat, and headless does not give it the address of the model", "{openai}"},
		{strings.Replace(talking(`["b", "{openai}"]`), "openai-chat", "openai", 1), `line 3, column 11: there is no dialect "openai"`, `did you mean "openai-chat"?`},
		{strings.Replace(talking(`["b", "{openai}"]`), `["openai-chat"]`, `["gemini", "gemini"]`, 1), "line 3, column 21: speaks lists gemini twice", ""},
		{talking(`["b", "x{args}", "{openai}"]`), "line 5, column 18: {args} expands to any number of arguments", ""},
		{talking(`[]`), "line 5, column 1: headless is empty", ""},
		{talking(`["b --yes", "{openai}"]`), `line 5, column 13: "b --yes" is not a program`, "it does not go through a shell"},
		{talking(`["{model}", "{openai}"]`), "line 5, column 13: the first element of headless is the program", ""},
		{talking(`"b {openai}"`), "line 5, column 1: headless must be a list in brackets, not a text", ""},
		{talking(`["b", "{openai}", 3]`), "line 5, column 30: headless must be a quoted string, not a number", ""},
		{talking(`["b", "{openai}", []]`), "line 5, column 1: headless contains an empty list", ""},
		{talking(`["sh", "-ec", "b {prompt}", "{openai}"]`), "line 5, column 26: sh would run {prompt} as code", `exec my-bot "$1"`},
		{talking(`["b", "{openai}", "{prompt}"]`) + "stdin = \"prompt\"\n", "line 5, column 1: headless would get the task twice", `stdin = "prompt"`},
		{small + "stdin = \"yes\"\n", `line 5, column 1: stdin must be "prompt" or "none", not "yes"`, ""},
		{small + "resume = [\"bot\", \"-c\", \"{prompt}\"]\n", "line 5, column 1: resume needs the folder", `state = ["~/.bot"]`},
		{"state = [\"/root/.bot\"]\n" + small, `line 1, column 10: "/root/.bot" is not a path below the home folder`, "~/.my-bot"},
		{"state = [\"~/../x\"]\n" + small, `line 1, column 10: "~/../x" is not a path below the home folder`, ""},
		{"state = [\"~/\"]\n" + small, `line 1, column 10: "~/" is not a path below the home folder`, ""},
		{"state = [\"~\"]\n" + small, `line 1, column 10: "~" is not a path below the home folder`, ""},
		{"state = [\"~/.\"]\n" + small, `line 1, column 10: "~/." is not a path below the home folder`, ""},
		{"state = [\"~/..\"]\n" + small, `line 1, column 10: "~/.." is not a path below the home folder`, ""},
		{"state = [\"/root\"]\n" + small, `line 1, column 10: "/root" is not a path below the home folder`, ""},
		{"state = [\"~/a\\u0000b\"]\n" + small, `line 1, column 10: `, ""},
		{"state = [\"~/.a/b\", \"~/.c\", \"~/.a\"]\n" + small, `line 1, column 28: of the state folders "~/.a/b" and "~/.a", one contains the other`, "keep the outer one"},
		{"state = [\"~/.a\", \"~/.a\"]\n" + small, `line 1, column 18: state lists "~/.a" twice`, ""},
		{"hosts = [\"https://x\"]\n" + small, `line 1, column 10: "https://x" is not a host name`, ""},
		{"homepage = \"example.com\"\n" + small, `line 1, column 1: "example.com" is not an http or https address`, ""},
		{"version = \"latest\"\n" + small, `line 1, column 1: "latest" is not a version`, "starts with a digit"},
		{small + "[exit]\n0 = \"fine\"\n", `line 6, column 1: "0" is not an exit code from 1 to 255`, ""},
		{small + "[image]\nfrom = \"-x\"\n", `line 6, column 1: "-x" is not the name of an image`, `from = "base"`},
		{small + "[image]\nrun = [\"a@$VERSION\"]\n", "line 6, column 8: run uses $VERSION, but the file has no version", `version = "1.2.3"`},
		{small + "[image]\nrun = [\"" + strings.Repeat("x", maxScript) + "\"]\n", "line 6, column 8: a script in run must not exceed", "split it"},
		{small + "[image]\ndockerfile = \"FROM debian\"\n", `line 6, column 1: the dockerfile starts with "FROM debian" instead of ARG BASE`, "FROM ${BASE}"},
		{small + "[image]\nfrom = \"base\"\ndockerfile = \"ARG BASE\"\n", "line 6, column 1: from and dockerfile cannot be used together", "keep one of them"},
		{"version = \"2.0\"\n" + small + "[image]\ndockerfile = \"ARG BASE\\nARG VERSION=1.0\\n\"\n", "line 7, column 1: the dockerfile pins version 1.0, but version is 2.0", ""},
		{small + "[[file]]\npath = \"/etc/passwd\"\ntext = \"\"\n", `line 6, column 1: "/etc/passwd" is not a path below the home folder`, ""},
		{small + "[[file]]\npath = \"~/x\"\ntext = \"\"\nmode = \"u+x\"\n", `line 8, column 1: "u+x" does not make the file readable`, "0755"},
		{small + "[[file]]\npath = \"~/x\"\ntext = \"\"\n[[file]]\npath = \"~/x\"\ntext = \"\"\n", "line 9, column 1: the file ~/x is listed twice", ""},
		{option(`flag = "loud"`), `line 5, column 3: option "loud": key "flag": "loud" does not begin with a dash`, ""},
		{option(`type = "boolean"`), `line 5, column 3: option "loud": `, ""},
		{option("type = \"secret\"\nflag = \"--x\""), `line 5, column 3: option "loud": key "flag": a secret never`, ""},
		{option("type = \"int\"\nflag = \"--x\"\nmin = 5\ndefault = 3"), `line 5, column 3: option "loud": key "default": `, ""},
		{option("type = \"choice\"\nflag = \"--x\"\nchoices = [\"a b\"]"), `line 11, column 12: the choice "a b" contains a space`, ""},
		{option("when = \"quiet\"\nflag = \"--x\""), `line 5, column 3: option "loud": key "when": there is no option "quiet"`, ""},
		{option(""), `line 5, column 3: the option "loud" needs a flag or an env`, ""},
		{option("flag = \"--loud\"\n[[option]]\nkey = \"loud\"\nlabel = \"L\"\nhelp = \"h\"\nflag = \"--l\""), `line 10, column 3: option "loud" is defined twice`, ""},
		{small + "[[option]]\nkey = \"x\"\nlabel = \"L\"\nhelp = \"h\"\nflag = \"--x\"\n", "line 4, column 1: headless has no {options}", "{options}"},
		{small + "[env]\nLOUD = \"1\"\n[[option]]\nkey = \"x\"\nlabel = \"L\"\nhelp = \"h\"\nenv = \"LOUD\"\n", "line 6, column 1: LOUD is already the variable of an option", ""},
		{small + "[env]\nPATH = \"/x\"\n", "line 6, column 1: PATH is set by the image", "ENV PATH="},
		{small + "[env]\nA = \"1\"\nHOME = \"/x\"\n", "line 7, column 1: HOME is set by aibox", ""},
		{small + "[env]\nLD_PRELOAD = \"/x.so\"\n", "line 6, column 1: LD_PRELOAD would affect every program", `"env", "LD_PRELOAD=…"`},
		{small + "[env]\nAIBOX_MODEL = \"x\"\n", "line 6, column 1: names that start with AIBOX_", ""},
		{option("env = \"LD_LIBRARY_PATH\""), "line 9, column 1: LD_LIBRARY_PATH would affect", ""},
		{option("env = \"PATH\""), "line 9, column 1: PATH is set by the image", ""},
		{option("type = \"secret\"\nenv = \"AIBOX_INFERENCE_KEY\""), "line 10, column 1: AIBOX_INFERENCE_KEY holds the key of your model server", ""},
		{option("type = \"secret\"\nenv = \"OPENAI_API_KEY\""), "line 10, column 1: OPENAI_API_KEY holds the key of your model server", `OPENAI_API_KEY = "{key}"`},
		{strings.Replace(option("flag = \"--net\""), `"loud"`, `"network"`, 1), "line 6, column 1: \"network\" is a flag of `aibox run` itself", "own-network"},
		{small + "[exit]\n" + counted("%d = \"x\"\n"), "line 5, column 2: [exit] has more than 500 keys", ""},
		{small + counted("[[file]]\n#%d\n"), "line 5, column 3: [[file]] is limited to 500 entries", ""},
		{"notes = [" + counted("\"%d\",") + "]\n" + small, "line 1, column 1: notes has more than 500 elements", ""},
		{strings.Repeat("#", MaxFile+1), "an agent file must not exceed 256 KiB", ""},
	} {
		found := problems(t, "bot", test.text)
		if !slices.ContainsFunc(found, func(p Problem) bool {
			return strings.HasPrefix(p.String(), test.want) && strings.Contains(p.Hint, test.hint)
		}) {
			t.Errorf("%.200s\nwant %s\nhint %s\ngot  %q", test.text, test.want, test.hint, found)
		}
	}
}

// counted returns a list that is longer than allowed.
func counted(format string) string {
	var out strings.Builder
	for i := range most + 1 {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

func TestAllProblemsAreReportedInFileOrder(t *testing.T) {
	_, err := Parse("bot", []byte("title = 3\nfoo = 1\n[command]\nheadles = [\"a\"]\n"))
	want := "line 1, column 1: title must be a quoted string, not a number (and 4 more problems)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	found := problems(t, "bot", "title = 3\nfoo = 1\n[command]\nheadles = [\"a\"]\n")
	if both := problems(t, "bot", "titel = \"B\"\n"+small+"[env]\nA = \"{promt}\"\n"); len(both) != 2 {
		t.Errorf("an unknown key hides another mistake: %q", both)
	}
	for i := range found[1:] {
		if found[i].Line > found[i+1].Line && found[i+1].Line > 0 {
			t.Errorf("line %d comes before line %d", found[i].Line, found[i+1].Line)
		}
	}
}

func TestNameFitsAllPlacesThatUseIt(t *testing.T) {
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

// Decoding such a file would take minutes and gigabytes, and every command reads all agent files.
func TestAFileWithTooManyOrTooDeepKeysIsRejectedUnread(t *testing.T) {
	const many = 60_000
	var keys strings.Builder
	for i := range many / 2 {
		fmt.Fprintf(&keys, "k%d=1\n", i)
	}
	for _, text := range []string{
		strings.Repeat("a.", many) + "b = 1",
		"[" + strings.Repeat("a.", many) + "b]",
		strings.Repeat("a={", 9000) + "a=1" + strings.Repeat("}", 9000),
		"a=" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"a=[" + strings.Repeat("1,", many) + "]",
		keys.String(),
	} {
		if first := problems(t, "bot", text)[0].Text; !strings.HasPrefix(first, "an agent file can have at most 10000 keys") {
			t.Errorf("%.20q: %s", text, first)
		}
	}
}
