package config

import (
	"fmt"
	"slices"
	"strconv"

	"aibox/agents/spec"
)

// Setting is one setting with its value.
type Setting struct {
	Key   string     `json:"key"`   // "timeout", "agents.codex.verbosity"
	Value any        `json:"value"` // as spec.Field.Value gives it; nil when it is not set, dots for a secret
	From  []Source   `json:"from"`  // where it was set; several for a list that adds up, the last one last
	Field spec.Field `json:"-"`

	section *section
}

// Text returns the value in the syntax in which it can be set: "" if it is not set.
func (s Setting) Text() string { return s.text(spec.Field.Text) }

// Show returns the value as users read it: "" if it is not set.
func (s Setting) Show() string { return s.text(spec.Field.Show) }

func (s Setting) text(of func(field spec.Field, scratch any) string) string {
	if on, ok := s.Value.(bool); ok {
		return strconv.FormatBool(on)
	}
	scratch := spec.Clone(s.section.defaults)
	if s.Field.Type == spec.Secret {
		text, _ := s.Value.(string)
		return text
	}
	if err := s.Field.Decode(scratch, s.Value); err != nil {
		return fmt.Sprint(s.Value)
	}
	return of(s.Field, scratch)
}

// Values returns the values that users can choose from; nil if there are too many.
func (s Setting) Values() []string {
	if s.Field.Type == spec.Bool {
		return []string{"true", "false"}
	}
	return s.Field.Choices
}

// Variable returns the environment variable that sets it, "" when none does.
func (s Setting) Variable() string {
	if s.Field.Type == spec.Secret {
		return s.Field.Env
	}
	return Variable(s.Key)
}

// Check checks a value of the setting, in the form of spec.Field.Value, by the rules that
// are not in the tags of its field.
func (s Setting) Check(value any) error {
	if s.section == nil || s.section.check == nil {
		return nil
	}
	return s.section.check(s.Field, value)
}

// Source returns the last source that set it.
func (s Setting) Source() Source { return s.From[len(s.From)-1] }

// Resolved holds all settings after the sources are merged.
type Resolved struct {
	Settings  Settings
	Images    Images
	Versions  map[string]string       // by image; holds only those that are set
	Providers map[string]Provider     // by name
	Secrets   map[string]SecretSource // by name
	Logins    map[string]SecretSource // by agent: the key of the user's account at its vendor
	all       []Setting
}

// All returns all settings in the order of documentation, set or not.
func (r *Resolved) All() []Setting { return r.all }

// Find returns the setting with the key, or a Usage fault that suggests the nearest one.
func (r *Resolved) Find(key string) (Setting, error) {
	known := make([]string, len(r.all))
	for i, setting := range r.all {
		if known[i] = setting.Key; setting.Key == key {
			return setting, nil
		}
	}
	return Setting{}, unknownKey(key, known)
}

// Agent returns the agent's options that are set, without secrets.
func (r *Resolved) Agent(name string) []Setting {
	var set []Setting
	for _, setting := range r.all {
		if setting.section.name == "agents."+name && !setting.section.policy && setting.Source().Kind != BuiltIn && setting.Field.Type != spec.Secret {
			set = append(set, setting)
		}
	}
	return set
}

// OfRepository returns the settings that the repository's file contributes to.
func (r *Resolved) OfRepository() []Setting {
	var set []Setting
	for _, setting := range r.all {
		if slices.ContainsFunc(setting.From, func(s Source) bool { return s.Kind == RepositoryFile }) {
			set = append(set, setting)
		}
	}
	return set
}
