package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"aibox/internal/dockerfile"
	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
)

// MaxFile bounds the file of a template, in bytes.
const MaxFile = 256 << 10

// Definition is the file of a user's own template, as TOML.
type Definition struct {
	Summary    string            `toml:"summary,omitempty"`
	Image      string            `toml:"image,omitempty"`                // reference of an image; excludes a recipe
	From       string            `toml:"from,omitempty"`                 // the image on which the recipe builds: base (the default) or a built-in template. Without a recipe, this template's image is used
	Dockerfile string            `toml:"dockerfile,multiline,omitempty"` // the recipe
	User       string            `toml:"user,omitempty"`
	Workdir    string            `toml:"workdir,omitempty"`
	Env        map[string]string `toml:"env,omitempty"`
	Start      *StartDefinition  `toml:"start,omitempty"`
	Settings   map[string]any    `toml:"settings,omitempty"`
}

// StartDefinition is a Start in the file.
type StartDefinition struct {
	Command []string `toml:"command"`
	Port    int64    `toml:"port,omitempty"`
	Timeout string   `toml:"timeout,omitempty"`
}

// Text returns the content of the file. TOML would change bytes that are not UTF-8 to other
// characters, so it refuses them with a Usage fault.
func (d *Definition) Text() ([]byte, error) {
	texts := append([]string{d.Summary, d.Dockerfile, d.Workdir}, slices.Collect(maps.Values(d.Env))...)
	if d.Start != nil {
		texts = append(texts, d.Start.Command...)
	}
	if slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) }) {
		return nil, fault.New(fault.Usage, "a template can contain only text in UTF-8")
	}
	return toml.Marshal(d)
}

// Error lists the problems of a file.
type Error struct{ Problems []string }

func (e *Error) Error() string { return strings.Join(e.Problems, "; ") }

// Parse reads the file of the template called name. Its error is an *Error with all
// problems that it found.
func Parse(name string, data []byte) (Template, error) {
	if len(data) > MaxFile {
		return Template{}, &Error{[]string{fmt.Sprintf("a template must not exceed %d KiB", MaxFile>>10)}}
	}
	var d Definition
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&d); err != nil {
		return Template{}, &Error{describe(err)}
	}
	return d.Template(name)
}

// describe lists the problems that the TOML decoder has found.
func describe(err error) []string {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var problems []string
		for _, one := range unknown.Errors {
			line, _ := one.Position()
			problems = append(problems, fmt.Sprintf("line %d: unknown key %q", line, termtext.Escape(strings.Join(one.Key(), "."))))
		}
		return problems
	}
	var malformed *toml.DecodeError
	if errors.As(err, &malformed) {
		line, _ := malformed.Position()
		return []string{fmt.Sprintf("line %d: %s", line, termtext.Escape(strings.TrimPrefix(malformed.Error(), "toml: ")))}
	}
	return []string{termtext.Escape(err.Error())}
}

// Template checks a definition as a whole and returns the template called name.
func (d *Definition) Template(name string) (Template, error) {
	c := checker{}
	t := Template{
		Name: name, Summary: cmp.Or(d.Summary, "A template of yours"), Source: Own,
		User: d.User, Workdir: cmp.Or(d.Workdir, "/workspace"),
	}
	c.name(name)
	c.line("summary", d.Summary)
	c.image(d, &t)
	c.place(&t)
	c.env(d.Env, &t)
	c.start(d.Start, &t)
	c.settings(d.Settings, &t)
	if len(c.problems) > 0 {
		return Template{}, &Error{c.problems}
	}
	return t, nil
}

// checker collects problems in a definition.
type checker struct{ problems []string }

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, termtext.Escape(fmt.Sprintf(format, args...)))
}

var (
	nameForm = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	userForm = lazyregexp.New(`^[a-z0-9_][a-z0-9_.-]{0,31}(:[a-z0-9_][a-z0-9_.-]{0,31})?$`)
	envForm  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// reserved are names of images that are not templates.
var reserved = []string{base, "debian"}

// maxName is the maximum length of a name: it is part of an image's reference and of a host
// name.
const maxName = 40

func (c *checker) name(name string) {
	if len(name) > maxName || !nameForm.MatchString(name) {
		c.fail("%q is not the name of a template: use lowercase words joined by dashes, at most %d characters", name, maxName)
	}
	if slices.Contains(reserved, name) {
		c.fail("%q is the name of an image of aibox's own", name)
	}
}

func (c *checker) line(key, text string) {
	if strings.ContainsAny(text, "\n\r\t") || termtext.Text(text) != text {
		c.fail("%s must be one line of printable characters", key)
	}
}

// image reads the image or the recipe.
func (c *checker) image(d *Definition, t *Template) {
	switch {
	case d.Image != "" && d.From != "":
		c.fail("image and from cannot be used together: keep one of them")
	case d.Image != "" && d.Dockerfile != "":
		c.fail("image and dockerfile cannot be used together: keep one of them")
	case d.Image != "" && !dockerfile.IsReference(d.Image):
		c.fail("%q is not the name of an image", d.Image)
	case d.Image != "":
		t.Image.Reference = d.Image
	case d.Dockerfile == "" && IsBuiltin(d.From): // the built-in template with other defaults
		below, _ := BuiltinNamed(d.From)
		t.Image = below.Image
		return
	case d.Dockerfile == "":
		c.fail("image or dockerfile is missing")
	case strings.ContainsRune(d.Dockerfile, 0):
		c.fail("dockerfile contains a NUL character")
	case dockerfile.HasByteOrderMark(d.Dockerfile):
		c.fail("the dockerfile begins with a byte order mark (BOM); save it as UTF-8 without one")
	case firstInstruction(d.Dockerfile) != "ARG BASE":
		c.fail("the dockerfile starts with %q instead of ARG BASE, which is the image named by from", firstInstruction(d.Dockerfile))
	default:
		t.Image.Recipe, t.dockerfile = t.Name, d.Dockerfile
	}
	if d.From == "" || d.From == base {
		return
	}
	below, ok := BuiltinNamed(d.From)
	if !ok {
		c.fail("from is %s or a built-in template, not %q", base, d.From)
		return
	}
	t.below = below.Image.Recipe
}

// base is the name of aibox's base image.
const base = "base"

// firstInstruction returns the first line of a Dockerfile that is not a comment.
func firstInstruction(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			return l
		}
	}
	return ""
}

// place checks the user and the folder.
func (c *checker) place(t *Template) {
	if t.User != "" && !userForm.MatchString(t.User) {
		c.fail("%q is not a user: give USER or USER:GROUP, each a name or a number", t.User)
	}
	c.line("workdir", t.Workdir)
	if !strings.HasPrefix(t.Workdir, "/") || path.Clean(t.Workdir) != t.Workdir {
		c.fail("%q is not the absolute path of a folder", t.Workdir)
	}
}

// maxVariables bounds the environment.
const maxVariables = 256

func (c *checker) env(env map[string]string, t *Template) {
	if len(env) > maxVariables {
		c.fail("env has more than %d variables", maxVariables)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case !envForm.MatchString(name):
			c.fail("%q is not the name of a variable", name)
		case strings.HasPrefix(name, "AIBOX_") || strings.HasPrefix(name, "LD_"):
			c.fail("a template cannot set %s", name)
		case strings.ContainsRune(env[name], 0):
			c.fail("the value of %s contains a NUL character", name)
		}
		t.Env = append(t.Env, name+"="+env[name])
	}
}

// maxStart bounds the time of a start.
const maxStart = 10 * time.Minute

func (c *checker) start(d *StartDefinition, t *Template) {
	if d == nil {
		return
	}
	t.Start = &Start{Argv: d.Command, Timeout: DefaultStartTimeout}
	switch {
	case len(d.Command) == 0 || d.Command[0] == "" || strings.HasPrefix(d.Command[0], "-"):
		c.fail("the command of start is a list: a program and its arguments")
	case len(d.Command) == 1 && strings.ContainsAny(d.Command[0], " \t\n"):
		c.fail("%q is not a program: each word of the command has quotes of its own, because it does not go through a shell", d.Command[0])
	case slices.ContainsFunc(d.Command, func(word string) bool { return strings.ContainsRune(word, 0) }):
		c.fail("the command of start contains a NUL character")
	}
	if d.Port < 0 || d.Port > 65535 {
		c.fail("the port of start is a number from 1 to 65535, not %d", d.Port)
	}
	t.Start.Port = uint16(d.Port)
	if d.Timeout == "" {
		return
	}
	timeout, err := time.ParseDuration(d.Timeout)
	if err != nil || timeout <= 0 || timeout > maxStart {
		c.fail("the timeout of start is a duration up to %v, such as 30s, not %q", maxStart, d.Timeout)
	}
	t.Start.Timeout = timeout
}

// SettingKeys are the settings that a template can give.
var SettingKeys = []string{
	"network", "allow", "deny", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host", "timeout", "idle-timeout", "pids", "memory", "cpus",
	"model", "max-upload", "max-tokens", "max-cost", "model-timeout",
}

func (c *checker) settings(settings map[string]any, t *Template) {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(SettingKeys, key) {
			c.fail("a template cannot have the setting %q; it can have %s", key, strings.Join(SettingKeys, ", "))
			continue
		}
		if err := c.setting(key, settings[key], t); err != nil {
			c.fail("the setting %s: %v", key, err)
		}
	}
}

// setting sets a setting to its value.
func (c *checker) setting(key string, value any, t *Template) error {
	switch value := value.(type) {
	case string:
		return t.Defaults.Set(key, value)
	case bool:
		return t.Defaults.Set(key, strconv.FormatBool(value))
	case int64:
		return t.Defaults.Set(key, strconv.FormatInt(value, 10))
	case float64:
		return t.Defaults.Set(key, strconv.FormatFloat(value, 'f', -1, 64))
	case []any:
		var words []string
		for _, element := range value {
			word, ok := element.(string)
			if !ok {
				return fault.New(fault.Usage, "a list holds texts")
			}
			words = append(words, word)
		}
		return t.Defaults.SetWords(key, words)
	default:
		return fault.New(fault.Usage, "a table or a date is no value")
	}
}
