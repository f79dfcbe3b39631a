package custom

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/internal/spelling"
)

// part of a template: literal text, or the name of a placeholder.
type part struct {
	literal string
	name    string
	json    bool // as a JSON string, quotes included
}

// template is a text with placeholders.
type template []part

// placeholder is a name in braces that templates can use.
type placeholder struct {
	name, help string
	model      bool // has a value only if there is a model
	address    bool // its value is the address of the model
	words      bool // expands to any number of words; must be a separate list element
	inEnv      bool // allowed in [env]
	inFile     bool // allowed in [[file]]
}

var placeholders = []placeholder{
	{name: "prompt", help: "the task; if it is too long for an argument, a sentence that names its file", inFile: true},
	{name: "prompt_file", help: "path of a file with the task", inEnv: true, inFile: true},
	{name: "instructions_file", help: "path of a Markdown file with standing instructions: the limits of the sandbox and the user's system prompts. If no template uses it, they are put before the task", inEnv: true, inFile: true},
	{name: "model", help: "id of the model", model: true, inEnv: true, inFile: true},
	{name: "context", help: "tokens that fit into a request, if the model server reports it", model: true, inEnv: true, inFile: true},
	{name: "dialect", help: "the first API in speaks that the model server supports", model: true, inEnv: true, inFile: true},
	{name: "endpoint", help: "base URL for that API", model: true, address: true, inEnv: true, inFile: true},
	{name: "openai", help: "base URL for OpenAI clients, with /v1", model: true, address: true, inEnv: true, inFile: true},
	{name: "anthropic", help: "base URL for Anthropic clients, which add /v1", model: true, address: true, inEnv: true, inFile: true},
	{name: "gemini", help: "base URL for Gemini clients, which add /v1beta", model: true, address: true, inEnv: true, inFile: true},
	{name: "ollama", help: "base URL for Ollama clients, which add /api", model: true, address: true, inEnv: true, inFile: true},
	{name: "key", help: "a placeholder for the API key, worthless outside the session", model: true, inEnv: true, inFile: true},
	{name: "workdir", help: "the folder in the sandbox that the agent starts in: the repository, or the subfolder the run was started from", inEnv: true, inFile: true},
	{name: "options", help: "the arguments for the agent's options; a separate list element", words: true},
	{name: "args", help: "the arguments after --; a separate list element", words: true},
}

func findPlaceholder(name string) (placeholder, bool) {
	i := slices.IndexFunc(placeholders, func(p placeholder) bool { return p.name == name })
	if i < 0 {
		return placeholder{}, false
	}
	return placeholders[i], true
}

// inBraces matches a placeholder, or a literal one in double braces.
var inBraces = lazyregexp.New(`\{?\{([a-z_]+)(:[a-z_]*)?\}\}?`)

// parseTemplate reads placeholders: {name}, {name:json}, and {{name}} for the text
// {name} itself. Other braces are text, as in JSON. The error names the placeholder
// that is wrong; hint may be empty.
func parseTemplate(text string) (t template, wrong, hint string) {
	rest := 0
	for _, at := range inBraces.FindAllStringSubmatchIndex(text, -1) {
		begin, end, name := at[0], at[1], text[at[2]:at[3]]
		doubled := text[begin+1] == '{' && strings.HasSuffix(text[begin:end], "}}")
		if !doubled { // an extra brace on one side is text
			if text[begin+1] == '{' {
				begin++
			}
			if strings.HasSuffix(text[begin:end], "}}") {
				end--
			}
		}
		if begin > rest {
			t = append(t, part{literal: text[rest:begin]})
		}
		rest = end
		if doubled {
			t = append(t, part{literal: text[begin+1 : end-1]})
			continue
		}
		form := ""
		if at[4] >= 0 {
			form = text[at[4]:at[5]]
		}
		if _, ok := findPlaceholder(name); !ok || form != "" && form != ":json" {
			return nil, text[begin:end], suggest(name, text[begin:end])
		}
		t = append(t, part{name: name, json: form != ""})
	}
	if rest < len(text) {
		t = append(t, part{literal: text[rest:]})
	}
	return t, "", ""
}

// suggest returns a hint for an unknown placeholder.
func suggest(name, written string) string {
	var known []string
	for _, p := range placeholders {
		known = append(known, p.name)
	}
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean {%s}?", near)
	}
	return fmt.Sprintf("the placeholders are %s; for literal braces write {%s}", strings.Join(known, ", "), written)
}

// uses returns the names of a template's placeholders.
func (t template) uses() []string {
	var all []string
	for _, p := range t {
		if p.name != "" {
			all = append(all, p.name)
		}
	}
	return all
}

// whole returns the name of the placeholder that is the whole template, or "".
func (t template) whole() string {
	if len(t) != 1 {
		return ""
	}
	return t[0].name
}

// expand replaces the placeholders. complete reports whether all of them have a value.
func (t template) expand(values map[string]string) (text string, complete bool) {
	var out strings.Builder
	complete = true
	for _, p := range t {
		value := values[p.name]
		switch {
		case p.name == "":
			out.WriteString(p.literal)
			continue
		case value == "":
			complete = false
		}
		if p.json {
			value = quoted(value)
		}
		out.WriteString(value)
	}
	return out.String(), complete
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // a string always encodes
	}
	return string(data)
}
