package custom

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/dockerfile"
	"aibox/internal/lazyregexp"
	"aibox/internal/sorting"
	"aibox/internal/spelling"
)

// nameForm matches an agent's name, which is also a word on a command line and part of
// image names and session ids.
var nameForm = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the maximum length of a name, in bytes.
const maxName = 32

// reserved has the names of images that do not belong to an agent.
var reserved = []string{base, "debian"}

// checkName rejects invalid names of agents.
func checkName(name string) *Problem {
	switch {
	case !nameForm.MatchString(name) || len(name) > maxName:
		return &Problem{
			Text: fmt.Sprintf("%q is not a valid agent name", name),
			Hint: fmt.Sprintf("use up to %d lowercase letters, digits and dashes, starting with a letter", maxName),
		}
	case slices.Contains(reserved, name):
		return &Problem{Text: fmt.Sprintf("%q is the name of an aibox image", name), Hint: "choose another name"}
	}
	return nil
}

// facts reads the description of the agent.
func (r *reader) facts(name string) agents.Info {
	root := r.doc.root
	info := agents.Info{
		Name: name, Title: text(root, "title"), Summary: strings.TrimSuffix(text(root, "summary"), "."),
		Homepage: text(root, "homepage"), Version: text(root, "version"),
		StateDirs: texts(root, "state"), Scratch: texts(root, "scratch"), Hosts: texts(root, "hosts"), Notes: texts(root, "notes"),
	}
	if at, err := url.Parse(info.Homepage); info.Homepage != "" && (err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http") {
		r.fail("homepage", "%q is not an http or https address", info.Homepage)
	}
	if info.Version != "" && !dockerfile.IsVersion(info.Version) {
		r.fail("version", "%q is not a version", info.Version).Hint = "a version starts with a digit and contains only letters, digits and . + _ -"
	}
	for i, dir := range info.StateDirs {
		at := fmt.Sprintf("state[%d]", i)
		r.homePath(at, dir)
		r.checkOverlap(at, dir, info.StateDirs[:i])
	}
	for i, folder := range info.Scratch {
		if !scratchForm.MatchString(folder) || strings.HasPrefix(folder, ".git") {
			r.fail(fmt.Sprintf("scratch[%d]", i), "%q cannot be a folder for the agent's own use", folder).
				Hint = `give only its name, which starts with a dot but not with .git: ".my-bot"`
		}
	}
	for i, host := range info.Hosts {
		if !hostForm.MatchString(host) {
			r.fail(fmt.Sprintf("hosts[%d]", i), "%q is not a host name", host).Hint = "use a name such as api.example.com or *.example.com, without scheme or path"
		}
	}
	for i, name := range texts(root, "speaks") {
		if dialect, ok := r.dialect(fmt.Sprintf("speaks[%d]", i), name, info.Dialects); ok {
			info.Dialects = append(info.Dialects, dialect)
		}
	}
	return info
}

// checkOverlap rejects a state folder that overlaps with an earlier one. Each is a
// separate mount, and inside another mount its mount point would be under the agent's
// control.
func (r *reader) checkOverlap(at, dir string, before []string) {
	for _, other := range before {
		switch {
		case dir == other:
			r.fail(at, "state lists %q twice", dir)
		case agents.Contains(dir, other), agents.Contains(other, dir):
			r.fail(at, "of the state folders %q and %q, one contains the other", other, dir).Hint = "keep the outer one"
		}
	}
}

// scratchForm matches the name of a folder that begins with a dot and a letter or digit
// and can contain wildcards.
var scratchForm = lazyregexp.New(`^\.[A-Za-z0-9][A-Za-z0-9._*-]*$`)

// hostForm matches a host name with an optional wildcard in front and an optional port.
var hostForm = lazyregexp.New(`^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

// dialects has the APIs that a custom agent can use.
var dialects = []agents.Dialect{agents.OpenAIChat, agents.OpenAIResponses, agents.Anthropic, agents.Gemini}

func (r *reader) dialect(at, name string, before []agents.Dialect) (agents.Dialect, bool) {
	var known []string
	for _, dialect := range dialects {
		if dialect.String() == name {
			if slices.Contains(before, dialect) {
				r.fail(at, "speaks lists %s twice", name)
			}
			return dialect, true
		}
		known = append(known, dialect.String())
	}
	hint := "the dialects are " + strings.Join(known, ", ")
	if near := spelling.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	r.fail(at, "there is no dialect %q", name).Hint = hint
	return agents.NoDialect, false
}

// homePath rejects anything but a clean path below the home directory.
func (r *reader) homePath(at, name string) {
	below, ok := strings.CutPrefix(name, "~/")
	if !ok || below == "" || below == "." || path.Clean("/"+below) != "/"+below || strings.ContainsAny(below, ":,\\") || strings.ContainsFunc(below, unicode.IsControl) {
		r.fail(at, "%q is not a path below the home folder", name).Hint = `write it like "~/.my-bot", without .. and without a trailing slash`
	}
}

// variable is an environment variable of the agent.
type variable struct {
	name  string
	value template
}

var envForm = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// env reads the variables in the order of the file.
func (r *reader) env(defs []spec.Definition) []variable {
	var all []variable
	table := r.sub("env")
	for name := range table {
		at := "env." + name
		if !envForm.MatchString(name) {
			r.fail(at, "%q is not a variable name", name)
		}
		r.variable(at, name)
		if slices.ContainsFunc(defs, func(d spec.Definition) bool { return d.Tags["env"] == name }) {
			r.fail(at, "%s is already the variable of an option", name)
		}
		value := r.template(at, name, text(table, name), func(p placeholder) bool { return p.inEnv })
		all = append(all, variable{name, value})
	}
	sorting.Func(all, func(a, b *variable) int {
		return r.doc.at("env." + a.name).compare(r.doc.at("env." + b.name))
	})
	return all
}

// file is a file that is created before the agent starts.
type file struct {
	path string
	mode uint32
	text template
}

func (r *reader) files() []file {
	var all []file
	r.each("file", func(at string, table map[string]any) {
		f := file{path: text(table, "path"), mode: 0o600}
		r.homePath(join(at, "path"), f.path)
		if slices.ContainsFunc(all, func(other file) bool { return other.path == f.path }) {
			r.fail(join(at, "path"), "the file %s is listed twice", f.path)
		}
		if octal := text(table, "mode"); octal != "" {
			mode, err := strconv.ParseUint(octal, 8, 32)
			if err != nil || mode > 0o777 || mode&0o400 == 0 {
				r.fail(join(at, "mode"), "%q does not make the file readable by its owner", octal).Hint = `use permissions such as "0600" or "0755"`
			}
			f.mode = uint32(mode)
		}
		f.text = r.template(join(at, "text"), "text", text(table, "text"), func(p placeholder) bool { return p.inFile })
		all = append(all, f)
	})
	return all
}

// exits reads the meanings of exit codes.
func (r *reader) exits() map[int]string {
	meanings := map[int]string{}
	table := r.sub("exit")
	for name := range table {
		code, err := strconv.Atoi(name)
		if err != nil || code < 1 || code > 255 || strconv.Itoa(code) != name {
			r.fail("exit."+name, "%q is not an exit code from 1 to 255", name)
			continue
		}
		meanings[code] = strings.TrimSuffix(text(table, name), ".")
	}
	return meanings
}
