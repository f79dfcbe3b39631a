package custom

import "slices"

// kind is the type of a key's value. The zero value is invalid.
type kind int

const (
	line     kind = iota + 1 // one line of printable text
	prose                    // a text of any number of lines
	list                     // a list of lines
	scripts                  // a list of texts
	command                  // a list of words and of lists of words
	anything                 // a value of the option's type
)

// kindNames has the names of kinds for messages and the reference.
var kindNames = map[kind]string{
	line: "text", prose: "text", list: "list of texts", scripts: "list of texts", command: "list of words",
	anything: "value of the option's type",
}

// key is a key of agent files. The parser, the template and the reference are all made
// from the list keys.
type key struct {
	table   string // as written in brackets; empty for the top of the file
	name    string // empty if any name is allowed
	kind    kind
	need    need
	help    string // one sentence without a full stop
	example string // a value as written in a file; can have several lines
}

// need is whether files require a key.
type need int

const (
	optional need = iota
	usual         // most files and the template have it
	required      // without it the file is not a valid agent
)

// section is a table of an agent file.
type section struct {
	name  string // empty for the top of the file
	array bool   // written [[name]], once for each entry
	help  string
}

var sections = []section{
	{"", false, "The agent itself"},
	{"image", false, "The image it runs in. The default is aibox's base: Debian 12 with git, Node, Python and build tools"},
	{"command", false, "How it is started: lists of arguments, without a shell"},
	{"env", false, "Its environment variables, with placeholders"},
	{"exit", false, "The meaning of its exit codes, as the end of a sentence"},
	{"file", true, "A file that is created before it starts"},
	{"option", true, "An option of the agent: a flag of `aibox run`, a field of the form, a key of --set"},
}

var keys = []key{
	{"", "title", line, required, "Its display name", `"My Bot"`},
	{"", "summary", line, required, "A description in one sentence", `"Fixes small things"`},
	{"", "homepage", line, optional, "Its home page", `"https://example.com/mybot"`},
	{"", "version", line, usual, "The version to install; the recipe has it as $VERSION, and `aibox bake --version` overrides it", `"1.2.3"`},
	{"", "speaks", list, usual, "The model APIs it speaks, best first: openai-chat, openai-responses, anthropic, gemini; if missing, the agent gets no model", `["openai-chat"]`},
	{"", "state", list, optional, "Folders below its home where it stores conversations. They are kept with the session, for this agent only, so that --resume finds them. They must not overlap with each other or with those of other agents", `["~/.mybot"]`},
	{"", "scratch", list, optional, "Folders at the top of the repository for its own use, such as a cache. New files in them do not count as changes. Each name starts with a dot and can contain a *", `[".mybot-cache"]`},
	{"", "hosts", list, optional, "Host names of its vendor's cloud; unreachable unless the policy allows them", `["api.example.com"]`},
	{"", "notes", list, optional, "Notes for `aibox agents show`", `["Needs 300 MB of memory."]`},

	{"image", "from", line, optional, "What the image is built on: base, or the reference of an image", `"base"`},
	{"image", "run", scripts, usual, "Shell scripts that install it; each is a build step with $VERSION in its environment", "[\n  \"npm install --global --no-audit --no-fund my-bot@$VERSION\",\n]"},
	{"image", "dockerfile", prose, optional, "The whole recipe, instead of from and run; it starts with ARG BASE, which is aibox's base", "'''\nARG BASE\nFROM ${BASE}\nARG VERSION=1.2.3\nRUN npm install --global my-bot@$VERSION\n'''"},

	{"command", "headless", command, required, "Does one task and exits", `["my-bot", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "interactive", command, optional, "Works with a user on a terminal", `["my-bot", "--model", "{model}", "{options}", "{args}", ["--", "{prompt}"]]`},
	{"command", "resume", command, optional, "Headless, continuing the latest conversation", `["my-bot", "--continue", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "resume_interactive", command, optional, "On a terminal, continuing the latest conversation", `["my-bot", "--continue", "--model", "{model}", "{options}", "{args}"]`},
	{"command", "stdin", line, optional, "What its standard input holds when headless: prompt, or none (the default)", `"none"`},

	{"env", "", prose, usual, "An environment variable, except PATH, HOME, LD_… and AIBOX_…; omitted if a placeholder in it has no value", "OPENAI_BASE_URL = \"{openai}\"\nOPENAI_API_KEY = \"{key}\""},
	{"exit", "", line, optional, "The meaning of this exit code, from 1 to 255", `3 = "the model refused"`},

	{"file", "path", line, required, "Its path below the home folder: ~/…", `"~/.mybot/config.json"`},
	{"file", "mode", line, optional, "Its permissions in octal; default 0600", `"0600"`},
	{"file", "text", prose, required, "Its content, with placeholders", `'{"model": {model:json}, "base": {openai:json}}'`},

	{"option", "key", line, required, "The option's name: lowercase words joined by dashes; must not be a flag of `aibox run`", `"max-turns"`},
	{"option", "label", line, required, "Its label in forms", `"Turns"`},
	{"option", "help", line, required, "A description in one sentence", `"Maximum number of turns"`},
	{"option", "type", line, optional, "string (the default), text, path, model, choice, choices, bool, int, decimal, size, duration, money, list or secret", `"int"`},
	{"option", "flag", line, optional, "The arguments before its value on the agent's command line; if the last one ends with =, the value is appended to it", `"--max-turns"`},
	{"option", "env", line, optional, "The agent's environment variable for it. A secret needs one and takes its value from your variable of that name, which must not be a model server's key", `"MYBOT_MAX_TURNS"`},
	{"option", "default", anything, optional, "Its value if it is not set", `20`},
	{"option", "choices", list, optional, "For choice and choices: the allowed values, without spaces", `["low", "high"]`},
	{"option", "min", anything, optional, "For int and duration: the minimum", `1`},
	{"option", "max", anything, optional, "For int and duration: the maximum", `100`},
	{"option", "group", line, optional, "Its heading in forms", `"Advanced"`},
	{"option", "mode", line, optional, "headless or interactive, if it applies to only one of them", `"headless"`},
	{"option", "scope", line, optional, "Which settings files can set it: user (the default), repository, at-most or at-least (a repository can only tighten it)", `"at-most"`},
	{"option", "when", line, optional, "Condition on another option: it is set (key) or has a value (key=value, key!=value). If it does not hold, forms hide this option, and a run that sets it is refused", `"effort=high"`},
}

// find returns the key of a table with the given name.
func find(table, name string) (key, bool) {
	for _, k := range keys {
		if k.table == table && (k.name == name || k.name == "") {
			return k, true
		}
	}
	return key{}, false
}

// names returns the names of the keys in a table. At the top of the file these include
// the names of the tables.
func names(table string) []string {
	var all []string
	for _, k := range keys {
		if k.table == table && k.name != "" {
			all = append(all, k.name)
		}
	}
	if table == "" {
		for _, s := range sections[1:] {
			all = append(all, s.name)
		}
	}
	return all
}

// tableWith returns a table that has a key with this name, or "".
func tableWith(name string) string {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name && k.table != "" })
	if i < 0 {
		return ""
	}
	return keys[i].table
}
