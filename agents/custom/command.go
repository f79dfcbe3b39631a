package custom

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// group is a list of words that are all present or all omitted.
type group []template

// argv is a command line with placeholders.
type argv []group

// uses returns the names of the placeholders in a command.
func (a argv) uses() []string {
	var all []string
	for _, g := range a {
		for _, word := range g {
			all = append(all, word.uses()...)
		}
	}
	return all
}

// expand returns the words. It omits a group if a placeholder in it has no value; lists
// has the values of {options} and {args}.
func (a argv) expand(values map[string]string, lists map[string][]string) []string {
	var out []string
	for _, g := range a {
		var words []string
		complete := true
		for _, word := range g {
			if list, ok := lists[word.whole()]; ok {
				words = append(words, list...)
				continue
			}
			text, whole := word.expand(values)
			words, complete = append(words, text), complete && whole
		}
		if complete {
			out = append(out, words...)
		}
	}
	return out
}

// command reads the command called name. It returns nil if there is none.
func (r *reader) command(name string) argv {
	elements, ok := r.sub("command")[name].([]any)
	if !ok {
		return nil
	}
	at := "command." + name
	var a argv
	for i, element := range elements {
		here := fmt.Sprintf("%s[%d]", at, i)
		group, ok := element.([]any)
		if !ok {
			a = append(a, r.group(name, []any{element}, func(int) string { return here }))
			continue
		}
		a = append(a, r.group(name, group, func(j int) string { return fmt.Sprintf("%s[%d]", here, j) }))
	}
	r.checkProgram(at, name, elements, a)
	r.checkCode(at, a)
	return a
}

// group reads words; at is the path of each.
func (r *reader) group(name string, words []any, at func(int) string) group {
	var g group
	for i, word := range words {
		text, _ := word.(string)
		t := r.template(at(i), name, text, func(placeholder) bool { return true })
		for _, used := range t.uses() {
			if p, _ := findPlaceholder(used); p.words && t.whole() != used {
				r.fail(at(i), "{%s} expands to any number of arguments, so it must be a separate list element", used)
			}
		}
		g = append(g, t)
	}
	return g
}

// checkProgram checks the first word of a command.
func (r *reader) checkProgram(at, name string, elements []any, a argv) {
	if len(elements) == 0 {
		r.fail(at, "%s is empty", name)
		return
	}
	program, plain := elements[0].(string)
	switch {
	case !plain || len(a[0].flat().uses()) > 0:
		r.fail(at+"[0]", "the first element of %s is the program; it cannot hold placeholders", name)
	case program == "" || strings.HasPrefix(program, "-"):
		r.fail(at+"[0]", "%q is not a program", program)
	case strings.ContainsAny(program, " \t\n"):
		r.fail(at+"[0]", "%q is not a program: each word of %s has quotes of its own", program, name).Hint = "it does not go through a shell"
	}
}

// flat joins a group into one template.
func (g group) flat() template { return slices.Concat(g...) }

// interpreters maps a program to the last letter of the option whose argument is code.
var interpreters = map[string]string{
	"sh": "c", "bash": "c", "dash": "c", "zsh": "c", "ksh": "c", "ash": "c", "busybox": "c",
	"python": "c", "python3": "c", "perl": "e", "ruby": "e", "node": "e",
}

// checkCode rejects placeholders inside the code of an interpreter, which would
// interpret the quotes and dollars of a task.
func (r *reader) checkCode(at string, a argv) {
	if len(a) == 0 {
		return
	}
	program, _ := a[0].flat().expand(nil)
	letter, ok := interpreters[path.Base(program)]
	if !ok {
		return
	}
	code := false // whether the next word is
	for i, g := range a {
		for _, word := range g {
			if code && len(word.uses()) > 0 {
				r.fail(fmt.Sprintf("%s[%d]", at, i), "%s would run {%s} as code", program, word.uses()[0]).
					Hint = `pass it as a separate argument: ["sh", "-c", 'exec my-bot "$1"', "sh", "{prompt}"]`
			}
			text, _ := word.expand(nil)
			code = strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.HasSuffix(text, letter)
		}
	}
}

// template parses a template. It rejects placeholders that do not exist or are not
// allowed here.
func (r *reader) template(at, name, text string, allowed func(placeholder) bool) template {
	t, wrong, hint := parseTemplate(text)
	if wrong != "" {
		r.fail(at, "%s: there is no placeholder %s", name, wrong).Hint = hint
		return nil
	}
	for _, used := range t.uses() {
		p, _ := findPlaceholder(used)
		switch {
		case !allowed(p):
			hint := "use it only in a command"
			if used == "prompt" {
				hint = "use {prompt_file}: a task can be too long for a variable"
			}
			r.fail(at, "{%s} cannot be used in %s", used, name).Hint = hint
		case p.model && !r.speaks():
			r.fail(at, "{%s} needs a model, but the file does not set which API the agent speaks", used).
				Hint = `speaks = ["openai-chat"]   # at the top of the file`
		}
	}
	return t
}

// speaks reports whether the agent uses a model.
func (r *reader) speaks() bool { return len(texts(r.doc.root, "speaks")) > 0 }
