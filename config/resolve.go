package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// Input is everything that settings are resolved from.
type Input struct {
	User        *Document // the user's own file; nil when there is none
	Repository  *Document // the repository's; nil when there is none
	Environment []string  // NAME=VALUE; only names that begin with AIBOX_ count, and those of secrets
	Flags       []Override
}

// Override is a setting on the command line.
type Override struct {
	Key   string // the setting's
	Name  string // the flag, "--timeout", for errors and for provenance
	Value any    // as spec.Field.Decode takes it

	// Texts are a list in place of Value: the text of each flag, read like that of a
	// variable, one list after the other.
	Texts []string
}

// value returns the flag's value of a setting with the field.
func (o Override) value(field spec.Field, scratch any) (any, error) {
	if o.Texts == nil {
		return o.Value, nil
	}
	words := []string{}
	for _, text := range o.Texts {
		if err := field.Set(scratch, text); err != nil {
			return nil, err
		}
		more, _ := field.Value(scratch).([]string)
		words = append(words, more...)
	}
	return words, nil
}

// Resolve merges the sources. A mistake of the user, or a setting that a repository's file
// may not change, is a Usage fault that names the place.
func (c Catalog) Resolve(in Input) (*Resolved, error) {
	c.named = tablesIn(in.User)
	sections, err := c.sections(c.named)
	if err != nil {
		return nil, err
	}
	for _, document := range []*Document{in.User, in.Repository} {
		if err := document.check(sections); err != nil {
			return nil, err
		}
	}
	environment, err := readEnvironment(in.Environment, sections)
	if err != nil {
		return nil, err
	}
	agent := agentOf(in.Flags)
	r := &Resolved{Versions: map[string]string{}, Providers: map[string]Provider{}, Secrets: map[string]SecretSource{}, Logins: map[string]SecretSource{}}
	for _, s := range sections {
		values := spec.Clone(s.defaults)
		r.all = slices.Grow(r.all, len(s.fields))
		for _, e := range s.entries() {
			setting, err := e.resolved(agent, sections, in, environment)
			if err != nil {
				return nil, err
			}
			r.all = append(r.all, setting)
			if e.field.Type == spec.Secret {
				continue
			}
			if err := e.field.Decode(values, setting.Value); err != nil {
				return nil, err
			}
		}
		if err := r.keep(s, values); err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(s.name, providersTable+"."); ok && c.Provider != nil {
			if err := c.Provider(name, r.Providers[name]); err != nil {
				return nil, err
			}
		}
		if name, ok := strings.CutPrefix(s.name, secretsTable+"."); ok {
			if err := r.Secrets[name].check(name); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// keep stores the values of a section in its typed struct.
func (r *Resolved) keep(s *section, values any) error {
	if p, ok := values.(*Provider); ok {
		r.Providers[strings.TrimPrefix(s.name, providersTable+".")] = *p
	}
	if source, ok := values.(*SecretSource); ok {
		r.Secrets[strings.TrimPrefix(s.name, secretsTable+".")] = *source
	}
	if policy, ok := values.(*AgentPolicy); ok {
		return r.keepLogin(s.name, policy)
	}
	switch s.name {
	case "":
		return spec.Copy(&r.Settings, values)
	case "images":
		return spec.Copy(&r.Images, values)
	case "images.versions":
		for _, field := range s.fields {
			if version := field.Text(values); version != "" {
				r.Versions[field.Key] = version
			}
		}
	}
	return nil
}

// sourceValue is the value of a setting in one source.
type sourceValue struct {
	value  any // as spec.Field.Value gives it
	source Source
}

// secret returns dots if the secret is set. It comes from its own variable.
func (e entry) secret(setting Setting, environment map[string]string) Setting {
	setting.From = []Source{{Kind: BuiltIn}}
	if text, ok := environment[e.field.Env]; ok && text != "" {
		setting.Value, setting.From = dots, []Source{{Kind: Environment, Name: e.field.Env}}
	}
	return setting
}

// dots are shown in place of a secret.
const dots = "••••••••"

// merged is a value that may come from several sources.
type merged struct {
	value any
	from  []Source
}

// addsUp reports whether every source adds to the setting.
func (e entry) addsUp() bool { return adds(e.field) }

// merge merges the values of several sources, in their order; nil is a source that does not
// set it. The first one is the built-in default and always present.
func (e entry) merge(builtIn sourceValue, others ...*sourceValue) merged {
	return e.mergeOver(merged{builtIn.value, []Source{builtIn.source}}, others...)
}

// mergeOver merges more sources over m.
func (e entry) mergeOver(m merged, others ...*sourceValue) merged {
	for _, other := range others {
		switch {
		case other == nil:
		case !e.addsUp() || m.value == nil:
			m = merged{other.value, []Source{other.source}}
		default:
			m = merged{e.union(m.value, other.value), append(slices.Clone(m.from), other.source)}
		}
	}
	return m
}

// union returns the words of both lists, each once: at its first position or, for patterns, of
// which later ones override earlier ones, at its last.
func (e entry) union(a, b any) []string {
	if e.field.Scope == spec.AtLeast {
		first, _ := a.([]string)
		second, _ := b.([]string)
		first = slices.DeleteFunc(slices.Clone(first), func(word string) bool { return slices.Contains(second, word) })
		return slices.Concat([]string{}, first, second)
	}
	return union(a, b)
}

func union(a, b any) []string {
	first, _ := a.([]string)
	second, _ := b.([]string)
	all, seen := []string{}, map[string]bool{}
	for _, word := range slices.Concat(first, second) {
		if !seen[word] {
			all, seen[word] = append(all, word), true
		}
	}
	return all
}

// inFile returns the value in the user's file; nil if the file does not set it.
func (e entry) inFile(d *Document) (*sourceValue, error) {
	it, raw := d.find(e)
	if it == nil {
		return nil, nil //nolint:nilnil // the file does not set it, which is no error
	}
	if e.field.Type == spec.Secret {
		return nil, nil //nolint:nilnil // refused by check already
	}
	value, err := e.read(func(scratch any) error { return e.field.Decode(scratch, e.withoutHosts(d, raw)) })
	if err != nil {
		return nil, d.blame(it.value, e, err)
	}
	if value, err = e.number(value); err != nil {
		return nil, err
	}
	line, _ := d.position(it.keys[len(it.keys)-1])
	return &sourceValue{value, Source{Kind: d.kind, Name: d.name, Line: line}}, nil
}

// inRepository returns inFile for a file in a repository, which may only tighten what the
// user allows. top is e, or the entry that e overrides if e belongs to an agent's policy;
// allowed is a value of top.
func (e entry) inRepository(d *Document, allowed merged, top entry) (*sourceValue, error) {
	found, err := e.inFile(d)
	if found == nil || err != nil {
		return nil, err
	}
	proposed := top.mergeOver(merged{allowed.value, allowed.from[:1]}, found)
	err = top.tightens(allowed.value, proposed.value)
	if err == nil {
		err = e.shows(found.value)
	}
	if err == nil && e.unlimits(allowed.value, proposed.value) {
		err = fault.New(fault.Usage, "a settings file in a repository cannot empty %q: the agent would use its own list, which may be longer", e.field.Key)
	}
	if err == nil {
		return found, nil
	}
	return nil, e.loosened(d, allowed, err)
}

// loosening says what a pattern that begins with ! does in a list of patterns.
var loosening = map[string]string{"hide": "unhides files that you hide", "read-only": "allows changes of files that you protect"}

// shows refuses patterns that show hidden files again, or make read-only files writable.
func (e entry) shows(value any) error {
	words, _ := value.([]string)
	for _, word := range words {
		if loosens, known := loosening[e.key]; known && strings.HasPrefix(word, "!") {
			return fault.New(fault.Usage, "a settings file in a repository can only tighten %q, and %q %s", e.key, word, loosens).
				Hint("to allow that, pass it yourself: --%s '%s'", e.key, word)
		}
	}
	return nil
}

// unlimits reports whether an agent's list that was not empty is emptied. An empty list
// adds nothing to the agent's command line, and without the flag the agent may do more than
// the user's list allows.
func (e entry) unlimits(now, proposed any) bool {
	words, _ := now.([]string)
	left, list := proposed.([]string)
	return strings.HasPrefix(e.section.name, "agents.") && !e.section.policy && list && len(words) > 0 && len(left) == 0
}

// inFlags returns the value on the command line.
func (e entry) inFlags(flags []Override) (*sourceValue, error) {
	i := slices.IndexFunc(flags, func(o Override) bool { return o.Key == e.key })
	if i < 0 {
		return nil, nil //nolint:nilnil // the flag is not given, which is no error
	}
	value, err := e.read(func(scratch any) error {
		value, err := flags[i].value(e.field, scratch)
		if err != nil {
			return err
		}
		return e.field.Decode(scratch, value)
	})
	if err != nil {
		return nil, prefixed(flags[i].Name, e, err)
	}
	if value, err = e.number(value); err != nil {
		return nil, err
	}
	return &sourceValue{value, Source{Kind: Flag, Name: flags[i].Name}}, nil
}

// read stores a value in a draft, checks it, and returns it as spec.Field.Value does. Empty
// text means the default, if there is one.
func (e entry) read(store func(scratch any) error) (any, error) {
	scratch := spec.Clone(e.section.defaults)
	if err := store(scratch); err != nil {
		return nil, err
	}
	value := e.field.Value(scratch)
	if value == nil && e.field.Default != "" {
		value = e.field.Value(e.section.defaults)
	}
	if e.section.check != nil {
		if err := e.section.check(e.field, value); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// number replaces the word auto with its number on this machine.
func (e entry) number(value any) (any, error) {
	text, ok := e.section.auto[e.key]
	if !ok {
		return value, nil
	}
	return e.field.Replace(value, spec.Clone(e.section.defaults), text)
}

// prefixed adds the variable or flag of a wrong value to err.
func prefixed(name string, e entry, err error) *fault.Fault {
	if rest, ok := strings.CutPrefix(err.Error(), fmt.Sprintf("option %q ", e.field.Key)); ok {
		return e.hinted(fault.New(fault.Usage, "%s %s", name, rest), err)
	}
	return e.hinted(fault.New(fault.Usage, "%s: %s", name, err), err)
}

// blame adds the place in the file of a wrong value. The sentence may hold a word of the file,
// which must not look like a separate line.
func (d *Document) blame(offset int, e entry, err error) *fault.Fault {
	const longest = 400 // bytes; a list may be long
	text := strings.ReplaceAll(err.Error(), "\n", `\n`)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return e.hinted(d.fault(offset, "%s", text), err)
}

// hinted adds the hints of err and, for a choice, the nearest valid value, since the fields
// have hints only for command lines.
func (e entry) hinted(f *fault.Fault, err error) *fault.Fault {
	var cause *fault.Fault
	if !errors.As(err, &cause) {
		return f
	}
	for _, hint := range cause.Hints {
		if word, ok := strings.CutPrefix(hint, "did you mean --set "+e.field.Key+"="); ok {
			hint = "did you mean " + word
		}
		f = f.Hint("%s", hint)
	}
	return f
}
