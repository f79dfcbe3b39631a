package custom

import (
	"fmt"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
)

// MaxFile bounds an agent file, in bytes.
const MaxFile = 256 << 10

// most is the maximum number of elements in a list, and of tables or variables in a
// file.
const most = 500

// Definition is a parsed agent file. It is immutable and safe for concurrent use.
type Definition struct {
	info    agents.Info
	recipe  string
	starts  map[start]argv
	stdin   bool // the task is on standard input when headless
	env     []variable
	files   []file
	exits   map[int]string
	options []spec.Definition
}

// start is a way of starting an agent.
type start struct{ interactive, resume bool }

// starts are the keys of [command] that are command lines.
var starts = map[string]start{
	"headless": {}, "interactive": {interactive: true},
	"resume": {resume: true}, "resume_interactive": {true, true},
}

// Parse reads the file of the agent called name. Its error is an *Error with every
// problem that it could find.
func Parse(name string, data []byte) (*Definition, error) {
	if p := checkName(name); p != nil {
		return nil, &Error{[]Problem{*p}}
	}
	if len(data) > MaxFile {
		return nil, &Error{[]Problem{{Text: fmt.Sprintf("an agent file must not exceed %d KiB", MaxFile>>10)}}}
	}
	doc, malformed := read(data)
	if malformed != nil {
		return nil, &Error{[]Problem{*malformed}}
	}
	r := &reader{doc: doc}
	var d *Definition
	if r.checkShape(); len(r.problems) == r.unknowns { // unknown keys hide no other problems
		d = r.definition(name)
	}
	if len(r.problems) > 0 {
		return nil, &Error{sortProblems(r.problems)}
	}
	return d, nil
}

// definition reads a document with a valid shape.
func (r *reader) definition(name string) *Definition {
	d := &Definition{
		info: r.facts(name), recipe: r.image(name), files: r.files(), exits: r.exits(),
		starts: map[start]argv{}, options: r.options(),
	}
	d.env = r.env(d.options)
	for key, way := range starts {
		if command := r.command(key); command != nil {
			d.starts[way] = command
		}
	}
	d.info.Image = base
	if d.recipe != "" {
		d.info.Image = name
	}
	d.stdin = r.stdin(d)
	d.info.NeedsPrompt = d.stdin || d.mentions(start{}, "prompt", "prompt_file")
	if len(r.problems) == 0 {
		r.crossCheck(d)
	}
	return d
}

// stdin reads the key for standard input.
func (r *reader) stdin(d *Definition) bool {
	switch value := text(r.sub("command"), "stdin"); value {
	case "", "none":
		return false
	case "prompt":
		for _, way := range []string{"headless", "resume"} {
			if d.starts[starts[way]] != nil && slices.Contains(d.starts[starts[way]].uses(), "prompt") {
				r.fail("command."+way, "%s would get the task twice, in {prompt} and on standard input", way).Hint = `use either {prompt} or stdin = "prompt"`
			}
		}
		return true
	default:
		r.fail("command.stdin", "stdin must be \"prompt\" or \"none\", not %q", value)
		return false
	}
}

// crossCheck checks the conditions between parts of a file.
func (r *reader) crossCheck(d *Definition) {
	for key, way := range starts {
		command := d.starts[way]
		if command == nil {
			continue
		}
		if mode := way.mode(); hasFlag(d.options, mode) && !slices.Contains(command.uses(), "options") {
			r.fail("command."+key, "%s has no {options}, so the agent's options never reach it", key).Hint = `add "{options}" to it`
		}
		if way.resume && len(d.info.StateDirs) == 0 {
			r.fail("command."+key, "%s needs the folder where the agent keeps its conversations", key).Hint = fmt.Sprintf("state = [\"~/.%s\"]   # at the top of the file", d.info.Name)
		}
		if len(d.info.Dialects) > 0 && !d.mentions(way, addresses()...) {
			r.fail("speaks", "the agent speaks %s, and %s does not give it the address of the model", d.info.Dialects[0], key).
				Hint = "use {openai}, {anthropic}, {gemini}, {ollama} or {endpoint} in its command, [env] or [[file]]"
		}
	}
}

// addresses returns the placeholders for the address of the model.
func addresses() []string {
	var all []string
	for _, p := range placeholders {
		if p.address {
			all = append(all, p.name)
		}
	}
	return all
}

// mentions reports whether a start's command, the environment or a file uses one of the
// placeholders.
func (d *Definition) mentions(way start, wanted ...string) bool {
	used := d.starts[way].uses()
	for _, v := range d.env {
		used = append(used, v.value.uses()...)
	}
	for _, f := range d.files {
		used = append(used, f.text.uses()...)
	}
	return slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(used, name) })
}

// key returns the start's key in [command].
func (s start) key() string {
	for key, way := range starts {
		if way == s {
			return key
		}
	}
	return ""
}

func (s start) mode() spec.Mode {
	if s.interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// Info describes the agent.
func (d *Definition) Info() agents.Info { return d.info }

// Recipe returns the Dockerfile of the agent's image, or "" if the agent uses aibox's
// base unchanged.
func (d *Definition) Recipe() string { return d.recipe }

// Make returns a new agent with the default options.
func (d *Definition) Make() agents.Agent {
	options, err := spec.Struct(d.options)
	if err != nil {
		options = &struct{}{} // impossible: Parse has built one from the same definitions
	}
	return &agent{Definition: d, options: options}
}
