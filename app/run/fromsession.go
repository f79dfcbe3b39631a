package run

import (
	"maps"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/bakery"
	"aibox/config"
	"aibox/session"
	"aibox/workspace"
)

// FromSession returns the request that runs the task of a session again, on the current
// state of its repository. It has only the names of variables, which get their current
// values. It omits what the session took over from another one; allow-degraded, which
// applies to a single run; and an image that aibox built, because there may be a newer one.
func FromSession(s session.Spec) (Request, error) {
	r := Request{
		Agent: s.Agent, Repository: s.Repository, Branch: s.Branch, Interactive: s.Interactive, Prompt: s.Prompt,
		Options: maps.Clone(s.Options), Args: slices.Clone(s.Args),
	}
	values := recordedSettings(s)
	values.Hide = workspace.OwnHide(s.Hide)
	for _, field := range config.RunFields() {
		if field.Inherit == spec.Never || !inherits(s, field.Key) || field.Key == "image" && values.Image == "" {
			continue
		}
		if err := r.Settings.CopyFrom(&values, field.Key); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// recordedSettings are the settings of a session that a new one can take over.
func recordedSettings(s session.Spec) config.Run {
	values := s.Run
	values.System = nil
	for _, prompt := range s.Prompts {
		values.System = append(values.System, prompt.Name)
	}
	if strings.HasPrefix(s.Image, bakery.Namespace) {
		values.Image = ""
	}
	return values
}

// inherits reports whether a new session can take over the setting. A time limit without a
// verification is not recorded, and without a proxy the proxy's settings do not apply.
func inherits(s session.Spec, key string) bool {
	return s.Inherits(key) && (key != "verify-timeout" || s.Verify != "") && (!config.IsProxySetting(key) || s.Mode().HasProxy())
}

// Without returns r without redundant values: settings that have the same value in
// resolved, agent options that have the same value in its settings or defaults, and options
// that the agent does not have in this mode. options is a pointer to the agent's options at
// their defaults; nil if the agent is unknown.
func (r Request) Without(resolved *config.Resolved, options any) Request {
	r = r.Clone()
	for _, key := range r.Settings.Keys() {
		setting, err := resolved.Find(key)
		if err != nil {
			continue
		}
		if known, adds := addedWords(setting); adds {
			more := slices.DeleteFunc(r.Settings.Words(key), func(word string) bool { return slices.Contains(known, word) })
			_ = r.Settings.SetWords(key, more) // the setting held these words before
			continue
		}
		isList := setting.Field.Type == spec.Choices || setting.Field.Type == spec.List
		if same := setting.Text() == r.Settings.Text(key); same || isList && setting.Text() == "" && len(r.Settings.Words(key)) == 0 {
			r.Settings.Delete(key)
		}
	}
	base := Base(resolved, r.Agent, options)
	fields, _ := spec.Of(base)
	for _, field := range fields {
		if text, given := r.Options[field.Key]; given && (text == field.Text(base) || text == field.FlagText(base)) {
			delete(r.Options, field.Key)
		}
	}
	return r.ForMode(options)
}

// WithoutDefaults returns the request without values that the settings already have.
func (r *Runner) WithoutDefaults(request Request, resolved *config.Resolved) Request {
	var options any
	if agent, err := r.User.Agents().Find(request.Agent); err == nil {
		options = agents.Options(agent)
	}
	return request.Without(resolved, options)
}

// ForMode returns r without the options that the agent does not have in the request's mode.
// options is a pointer to the agent's options.
func (r Request) ForMode(options any) Request {
	r = r.Clone()
	fields, _ := spec.Of(options) // nil has no fields
	for _, field := range fields {
		if !field.Mode.Includes(r.Mode()) {
			delete(r.Options, field.Key)
		}
	}
	return r
}

// Mode returns the mode in which the agent runs.
func (r Request) Mode() spec.Mode {
	if r.Interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// AddsUp reports whether a run can only add to the setting: no flag can remove values of
// the settings.
func AddsUp(setting config.Setting) bool { return config.RunAddsTo(setting.Field) }

// addedWords returns the words of a setting to which a run can only add.
func addedWords(setting config.Setting) (words []string, adds bool) {
	words, _ = setting.Value.([]string)
	return words, AddsUp(setting)
}

// Base returns an agent's options with the values of the settings, in a copy of options;
// nil if options is nil.
func Base(resolved *config.Resolved, agent string, options any) any {
	base := spec.Clone(options)
	fields, err := spec.Of(options)
	if base == nil || err != nil {
		return nil
	}
	for _, setting := range resolved.Agent(agent) {
		for _, field := range fields {
			if "agents."+agent+"."+field.Key == setting.Key {
				_ = field.Decode(base, setting.Value) // the settings were read with these fields
			}
		}
	}
	return base
}
