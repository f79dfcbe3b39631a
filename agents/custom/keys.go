package custom

import "slices"

// kind is what the value of a key has to be. The zero value is no kind.
type kind int

const (
	line     kind = iota + 1 // a text of one line that can be printed
	prose                    // a text of any number of lines
	list                     // a list of lines
	scripts                  // a list of texts
	command                  // a list of words and of lists of words
	anything                 // what the option's type takes
)

// kindNames are the kinds in sentences and in the reference.
var kindNames = map[kind]string{
	line: "text", prose: "text", list: "list of texts", scripts: "list of texts", command: "list of words",
	anything: "value of the option's type",
}

// key is a key that an agent file may hold. This is the one list of them: the
// parser, the template and the reference are made from it.
type key struct {
	table   string // as written in brackets; empty for the top of the file
	name    string // empty where the names are free
	kind    kind
	need    need
	help    string // one sentence without a full stop
	example string // a value as written in a file, of several lines perhaps
}

// need says how much a file needs a key. The zero value is not at all.
type need int

const (
	may    need = iota
	usual       // most files have it, so the template does
	always      // without it the file is no agent
)

// section is a table of an agent file.
type section struct {
	name  string // empty for the top of the file
	array bool   // written [[name]], once for each
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
	{"", "title", line, always, "Its display name", `"My Bot"`},
	{"", "summary", line, always, "A description in one sentence", `"Fixes small things"`},
	{"", "homepage", line, may, "Its home page", `"https://example.com/mybot"`},
	{"", "version", line, usual, "The version to install; the recipe has it as $VERSION, and `aibox bake --version` overrides it", `"1.2.3"`},
	{"", "speaks", list, usual, "The model APIs it speaks, best first: openai-chat, openai-responses, anthropic, gemini; if missing, the agent gets no model", `["openai-chat"]`},
	{"", "state", list, may, "Folders below its home where it stores conversations. They are kept with the session, for this agent only, so that --resume finds them. They must not overlap with each other or with those of other agents", `["~/.mybot"]`},
	{"", "scratch", list, may, "Folders at the top of the repository for its own use, such as a cache. New files in them do not count as changes. Each name starts with a dot and can contain a *", `[".mybot-cache"]`},
	{"", "hosts", list, may, "Host names of its vendor's cloud; unreachable unless the policy allows them", `["api.example.com"]`},
	{"", "notes", list, may, "Notes for `aibox agents show`", `["Needs 300 MB of memory."]`},

	{"image", "from", line, may, "What the image is built on: base, or the reference of an image", `"base"`},
	{"image", "run", scripts, usual, "Shell scripts that install it; each is a build step with $VERSION in its environment", "[\n  \"npm install --global --no-audit --no-fund my-bot@$VERSION\",\n]"},
	{"image", "dockerfile", prose, may, "The whole recipe, instead of from and run; it starts with ARG BASE, which is aibox's base", "'''\nARG BASE\nFROM ${BASE}\nARG VERSION=1.2.3\nRUN npm install --global my-bot@$VERSION\n'''"},

	{"command", "headless", command, always, "Does one task and exits", `["my-bot", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "interactive", command, may, "Works with a user on a terminal", `["my-bot", "--model", "{model}", "{options}", "{args}", ["--", "{prompt}"]]`},
	{"command", "resume", command, may, "Headless, continuing the latest conversation", `["my-bot", "--continue", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "resume_interactive", command, may, "On a terminal, continuing the latest conversation", `["my-bot", "--continue", "--model", "{model}", "{options}", "{args}"]`},
	{"command", "stdin", line, may, "What its standard input holds when headless: prompt, or none (the default)", `"none"`},

	{"env", "", prose, usual, "An environment variable, except PATH, HOME, LD_… and AIBOX_…; omitted if a placeholder in it has no value", "OPENAI_BASE_URL = \"{openai}\"\nOPENAI_API_KEY = \"{key}\""},
	{"exit", "", line, may, "The meaning of this exit code, from 1 to 255", `3 = "the model refused"`},

	{"file", "path", line, always, "Its path below the home folder: ~/…", `"~/.mybot/config.json"`},
	{"file", "mode", line, may, "Its permissions in octal; default 0600", `"0600"`},
	{"file", "text", prose, always, "Its content, with placeholders", `'{"model": {model:json}, "base": {openai:json}}'`},

	{"option", "key", line, always, "The option's name: lowercase words joined by dashes; must not be a flag of `aibox run`", `"max-turns"`},
	{"option", "label", line, always, "Its label in forms", `"Turns"`},
	{"option", "help", line, always, "A description in one sentence", `"Maximum number of turns"`},
	{"option", "type", line, may, "string (the default), text, path, model, choice, choices, bool, int, duration, list or secret", `"int"`},
	{"option", "flag", line, may, "The arguments before its value on the agent's command line; if the last one ends with =, the value is appended to it", `"--max-turns"`},
	{"option", "env", line, may, "The agent's environment variable for it. A secret needs one and takes its value from your variable of that name, which must not be a model server's key", `"MYBOT_MAX_TURNS"`},
	{"option", "default", anything, may, "Its value if it is not set", `20`},
	{"option", "choices", list, may, "For choice and choices: the allowed values, without spaces", `["low", "high"]`},
	{"option", "min", anything, may, "For int and duration: the minimum", `1`},
	{"option", "max", anything, may, "For int and duration: the maximum", `100`},
	{"option", "group", line, may, "Its heading in forms", `"Advanced"`},
	{"option", "mode", line, may, "headless or interactive, if it applies to only one of them", `"headless"`},
	{"option", "scope", line, may, "Which settings files can set it: user (the default), repository, at-most or at-least (a repository can only tighten it)", `"at-most"`},
	{"option", "when", line, may, "Condition on another option: it is set (key) or has a value (key=value, key!=value). If it does not hold, forms hide this option, and a run that sets it is refused", `"effort=high"`},
}

// find is the key of a table by its name.
func find(table, name string) (key, bool) {
	for _, k := range keys {
		if k.table == table && (k.name == name || k.name == "") {
			return k, true
		}
	}
	return key{}, false
}

// names are the names of the keys in a table; the top of the file has those of the
// tables, too.
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

// elsewhere is a table that has a key of this name, or "".
func elsewhere(name string) string {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name && k.table != "" })
	if i < 0 {
		return ""
	}
	return keys[i].table
}
