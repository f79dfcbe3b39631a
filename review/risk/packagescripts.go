package risk

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// packageScripts are the scripts of a package description, and those of them that run.
type packageScripts struct {
	scripts         map[string]json.RawMessage
	names           []string // sorted
	run             []string
	known, patterns map[string]bool // the scripts in run, and what was searched for
}

func newPackageScripts(scripts map[string]json.RawMessage) *packageScripts {
	return &packageScripts{scripts: scripts, names: slices.Sorted(maps.Keys(scripts)), known: map[string]bool{}, patterns: map[string]bool{}}
}

// add adds a script, with those before and after it.
func (p *packageScripts) add(name string) {
	if _, there := p.scripts[name]; there && !p.known[name] {
		p.known[name], p.run = true, append(p.run, name)
		p.add("pre" + name)
		p.add("post" + name)
	}
}

// addAll adds the scripts whose names begin with prefix.
func (p *packageScripts) addAll(prefix string) {
	if p.patterns[prefix] {
		return
	}
	p.patterns[prefix] = true
	for at, _ := slices.BinarySearch(p.names, prefix); at < len(p.names) && strings.HasPrefix(p.names[at], prefix); at++ {
		p.add(p.names[at])
	}
}

// addNamed adds the scripts that a word of a command names.
func (p *packageScripts) addNamed(word string) {
	word = strings.TrimPrefix(word, "@")
	if len(word) > 1 && word[0] == '/' && word[len(word)-1] == '/' {
		p.addAll("") // pnpm takes it for a regular expression
	}
	runner, rest, _ := strings.Cut(word, ":") // as in npm:build
	if !slices.Contains(scriptRunners, runner) {
		rest = ""
	}
	for _, name := range []string{word, rest} {
		p.add(name)
		// A list in braces, as in build:{a,b}, ends the word.
		if at := strings.IndexByte(name, '*'); at > 0 || at == 0 && strings.Trim(name, "*") == "" {
			p.addAll(name[:at])
		} else if len(name) > 1 && strings.HasSuffix(name, ":") {
			p.addAll(name)
		}
	}
}

// addFrom adds the scripts that a command names.
func (p *packageScripts) addFrom(command string) {
	if strings.Contains(command, `"/`) || strings.Contains(command, "'/") {
		p.addAll("") // such an expression in quotes
	}
	for word := range strings.FieldsFuncSeq(command, endsWord) {
		p.addNamed(word)
	}
}

// text are the commands of the scripts that run, and of those that they name.
func (p *packageScripts) text() []byte {
	var out bytes.Buffer
	for i := 0; i < len(p.run); i++ {
		for _, command := range commands(p.scripts[p.run[i]]) {
			out.WriteString(command + "\n")
			p.addFrom(command)
		}
	}
	return out.Bytes()
}

// installScripts are the scripts of a package that run without being named: those of lifecycle, and
// those before and after others, with the scripts that they name. A package that cannot be read may
// run everything in it.
func installScripts(content []byte, lifecycle []string) []byte {
	now, err := object(content)
	if err != nil {
		return content
	}
	scripts, err := object(now["scripts"])
	if err != nil {
		return now["scripts"]
	}
	p := newPackageScripts(scripts)
	for _, name := range p.names {
		around := (strings.HasPrefix(name, "pre") || strings.HasPrefix(name, "post")) && !strings.HasSuffix(name, "test")
		if around || slices.Contains(lifecycle, name) || strings.ContainsFunc(name, endsWord) {
			p.add(name)
		}
	}
	return p.text()
}

// endsWord reports whether a byte of a command ends a word that can name a script. Scripts with such a
// byte in their own name count as named.
func endsWord(c rune) bool { return c < 0x80 && c != ':' && splits(byte(c)) }

// commands are the commands of a script, which can be a list.
func commands(script json.RawMessage) []string {
	var command string
	if json.Unmarshal(script, &command) == nil {
		return []string{command}
	}
	var list []string
	if json.Unmarshal(script, &list) != nil {
		return []string{string(script)}
	}
	return list
}

// scriptStarters are the rules whose files run by themselves and can start scripts of a package; called
// are the user's hooks and settings.
var scriptStarters = []string{"called", "git-hooks", "hook-manager", "direnv", "agent-settings", "vscode-tasks"}

// scriptRunners are the programs that start scripts of a package by their names.
var scriptRunners = []string{"npm", "pnpm", "yarn", "bun", "npx", "run-s", "run-p", "npm-run-all", "turbo", "nx", "lerna", "wireit", "concurrently", "composer"}

// listRunners are those of them that take many names.
var listRunners = []string{"run-s", "run-p", "npm-run-all", "turbo", "nx", "lerna", "wireit", "concurrently"}

// hookKeys are the keys of a package.json that hook managers read.
var hookKeys = []string{"husky", "lint-staged", "nano-staged", "simple-git-hooks", "git-hooks", "gitHooks", "githooks", "pre-commit", "pre-push", "commit-msg", "precommit", "prepush"}

// packageHook describes a script of a package that something starts which runs by itself.
var packageHook = rule{
	name: "called", severity: High, runs: "the file itself", when: "when a hook, the shell, an editor or an agent starts the script that names it", by: "a package manager",
}

// maxScriptNames limits the names in Scripts. With more, every script counts as named.
const maxScriptNames = 10_000

// Scripts are the names of scripts of packages that other files start. The zero value has none.
type Scripts struct{ names map[string]struct{} }

// Note adds the names in the commands of a caller.
func (s *Scripts) Note(c Caller) {
	if !slices.Contains(scriptStarters, c.rule.name) || c.isFolder {
		return
	}
	if c.rule.name == "vscode-tasks" {
		if !bytes.Contains(c.Text, []byte("folderOpen")) {
			return // the user starts the tasks
		}
		// A task of the type npm has the name alone.
		for word := range strings.FieldsFuncSeq(string(valuesOfKeys(c.Text, []string{"script"})), endsWord) {
			s.add(word)
		}
	}
	for line := range bytes.Lines(c.commands()) {
		if isComment(bytes.TrimLeft(line, " \t")) {
			continue
		}
		for _, command := range commandsOf(string(line)) {
			s.addFrom(command)
		}
	}
}

// addFrom adds the names in one command: every word after a program that takes a list of them, otherwise the
// first word, and one more after an option, whose value the first can be.
func (s *Scripts) addFrom(command string) {
	runs, list, left := false, false, 0
	for word := range strings.FieldsFuncSeq(command, endsWord) {
		switch program := path.Base(word); {
		case !runs && (program == "echo" || program == "printf"):
			return
		case program == "npx":
			runs = list
		case slices.Contains(scriptRunners, program):
			runs, list, left = true, list || slices.Contains(listRunners, program), 1
		case !runs:
		case word == "run" || word == "run-script":
			left = 1
		case word == "workspace" || left > 0 && strings.HasPrefix(word, "-"):
			left = 2
		case strings.HasPrefix(word, "-"):
		case list:
			s.add(word)
		case left > 0 && word == "/": // of a regular expression of pnpm with brackets
			s.add("*")
		case left > 0 && strings.Trim(word, "*") != "":
			s.add(word)
			left--
		}
	}
}

func (s *Scripts) add(name string) {
	if len(name) > maxWord || len(s.names) >= maxScriptNames {
		return
	}
	if s.names == nil {
		s.names = map[string]struct{}{}
	}
	s.names[name] = struct{}{}
}

// DescribesPackage reports whether a file of this name can hold scripts that others start.
func DescribesPackage(name string) bool {
	return isPackage(callerRule(name))
}

func isPackage(r *rule) bool { return r != nil && (r.name == "npm-scripts" || r.name == "composer") }

// Started makes a Caller of the scripts of a package that callers noted before start, and of the hooks
// in its description, whose caller is c; ok is false if there are none, or c describes no package.
func (s *Scripts) Started(c Caller, content []byte) (_ Caller, ok bool) {
	if !isPackage(c.rule) {
		return Caller{}, false
	}
	now, err := object(content)
	if err != nil {
		return Caller{}, false // all of it is searched
	}
	scripts, _ := object(now["scripts"])
	p := newPackageScripts(scripts)
	var hooks bytes.Buffer
	for _, key := range hookKeys {
		for _, command := range texts(now[key]) {
			hooks.WriteString(command + "\n")
			p.addFrom(command)
		}
	}
	for name := range s.names {
		p.addNamed(name)
	}
	if len(s.names) >= maxScriptNames {
		p.addAll("")
	}
	c.rule, c.Text = &packageHook, append(hooks.Bytes(), p.text()...)
	return c, len(c.Text) > 0
}

// texts are the texts in a value of JSON, without the keys: those of lint-staged are patterns.
func texts(value json.RawMessage) []string {
	var decoded any
	if json.Unmarshal(value, &decoded) != nil {
		return nil
	}
	var found []string
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case string:
			found = append(found, value)
		case []any:
			for _, inner := range value {
				visit(inner)
			}
		case map[string]any:
			for _, inner := range value {
				visit(inner)
			}
		}
	}
	visit(decoded)
	return found
}
