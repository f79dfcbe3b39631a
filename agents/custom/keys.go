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
	{"", false, "What the agent is"},
	{"image", false, "The image it runs in. Without this table it runs in aibox's base: Debian 12 with git, Node, Python and build tools"},
	{"command", false, "How it is started: lists of words, which no shell reads"},
	{"env", false, "Variables of its environment, with placeholders"},
	{"exit", false, "What its exit codes mean, as the end of a sentence"},
	{"file", true, "A file that is there before it starts"},
	{"option", true, "An option of its own: a flag of `aibox run`, a field of the form, a key of --set"},
}

var keys = []key{
	{"", "title", line, always, "Its own name", `"My Bot"`},
	{"", "summary", line, always, "What it is, in one sentence", `"Mends small things"`},
	{"", "homepage", line, may, "Where to read more", `"https://example.com/mybot"`},
	{"", "version", line, usual, "The version that its image gets, which the recipe has as $VERSION and `aibox bake --version` can change", `"1.2.3"`},
	{"", "speaks", list, usual, "How it can talk to a model, the best first: openai-chat, openai-responses, anthropic, gemini; without it the agent gets no model", `["openai-chat"]`},
	{"", "state", list, may, "Folders under its home where it keeps conversations: kept with the session, for this agent alone, so that --resume finds them; none may contain another or lie in it, be it of another agent", `["~/.mybot"]`},
	{"", "scratch", list, may, "Folders at the top of the repository that it keeps for itself, such as a cache: what is new in them is no change; each name begins with a dot and may hold a *", `[".mybot-cache"]`},
	{"", "hosts", list, may, "Names it asks for with its vendor's own cloud; nothing of it can be reached unless the policy says so", `["api.example.com"]`},
	{"", "notes", list, may, "Facts worth a line in `aibox agents show`", `["Needs 300 MB of memory."]`},

	{"image", "from", line, may, "What the image is built on: base, or the reference of an image", `"base"`},
	{"image", "run", scripts, usual, "Shell scripts that install it, each a step of the build with $VERSION in its environment", "[\n  \"npm install --global --no-audit --no-fund my-bot@$VERSION\",\n]"},
	{"image", "dockerfile", prose, may, "The whole recipe instead of from and run; it begins with ARG BASE, which is aibox's base", "'''\nARG BASE\nFROM ${BASE}\nARG VERSION=1.2.3\nRUN npm install --global my-bot@$VERSION\n'''"},

	{"command", "headless", command, always, "Does one task and ends", `["my-bot", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "interactive", command, may, "Works with a user on a terminal", `["my-bot", "--model", "{model}", "{options}", "{args}", ["--", "{prompt}"]]`},
	{"command", "resume", command, may, "Headless, going on with the latest conversation", `["my-bot", "--continue", "--yes", "--model", "{model}", "{options}", "{args}", "--", "{prompt}"]`},
	{"command", "resume_interactive", command, may, "On a terminal, going on with the latest conversation", `["my-bot", "--continue", "--model", "{model}", "{options}", "{args}"]`},
	{"command", "stdin", line, may, "What its standard input holds when headless: prompt, or none (the default)", `"none"`},

	{"env", "", prose, usual, "A variable, but not PATH, HOME, LD_… or AIBOX_…; it is left out when a placeholder in it has no value", "OPENAI_BASE_URL = \"{openai}\"\nOPENAI_API_KEY = \"{key}\""},
	{"exit", "", line, may, "What the agent says with this code, from 1 to 255", `3 = "the model refused"`},

	{"file", "path", line, always, "Where it is, under the home: ~/…", `"~/.mybot/config.json"`},
	{"file", "mode", line, may, "Its permissions in octal; 0600 without it", `"0600"`},
	{"file", "text", prose, always, "What it holds, with placeholders", `'{"model": {model:json}, "base": {openai:json}}'`},

	{"option", "key", line, always, "What you type: lower-case words joined by dashes, and no flag of `aibox run`", `"max-turns"`},
	{"option", "label", line, always, "What a form shows beside it", `"Turns"`},
	{"option", "help", line, always, "What it does, in one sentence", `"How many turns it may take"`},
	{"option", "type", line, may, "string (the default), text, path, model, choice, choices, bool, int, duration, list or secret", `"int"`},
	{"option", "flag", line, may, "The words before its value on the agent's command line; after a last word that ends in = the value is joined to it", `"--max-turns"`},
	{"option", "env", line, may, "The variable of the agent's environment that carries it; a secret needs one and takes its value from yours of that name, which cannot be the key of a model server", `"MYBOT_MAX_TURNS"`},
	{"option", "default", anything, may, "Its value if it is not set", `20`},
	{"option", "choices", list, may, "For choice and choices: the values it may have, each without a space", `["low", "high"]`},
	{"option", "min", anything, may, "For int and duration: the least value", `1`},
	{"option", "max", anything, may, "For int and duration: the greatest value", `100`},
	{"option", "group", line, may, "The heading under which a form shows it", `"Advanced"`},
	{"option", "mode", line, may, "headless or interactive, when only one of the two knows it", `"headless"`},
	{"option", "scope", line, may, "Who may set it in a settings file: user (the default), repository, at-most or at-least (a repository may only tighten it)", `"at-most"`},
	{"option", "when", line, may, "It counts only when another option is set (key) or has a value (key=value, key!=value): otherwise a form hides it, and a run that sets it is refused", `"effort=high"`},
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
