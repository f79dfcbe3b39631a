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

// FromSession returns the request that runs the task of a session again, on its
// repository as it is now. Of the environment it has the names: the values are those that
// the user has by then. It leaves out what the session took over from another one;
// allow-degraded, which the user gives for one run; and an image that aibox built, which
// may have been built again since.
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

// inherits reports whether a new session can take over the setting. A time limit without
// a verification is not recorded, and without a proxy the proxy's settings say nothing.
func inherits(s session.Spec, key string) bool {
	return s.Inherits(key) && (key != "verify-timeout" || s.Verify != "") && (!config.IsProxySetting(key) || s.Mode().HasProxy())
}

// Without returns r without what holds anyway: the settings that have the same value in
// resolved, the agent's options that have the same value by its settings or defaults, and
// those that the agent does not know in this mode. options is a pointer to the agent's
// options at their defaults; nil when the agent is unknown.
func (r Request) Without(resolved *config.Resolved, options any) Request {
	r = r.Clone()
	for _, key := range r.Settings.Keys() {
		setting, err := resolved.Find(key)
		if err != nil {
			continue
		}
		if known, adds := addedWords(setting); adds {
			more := slices.DeleteFunc(r.Settings.Words(key), func(word string) bool { return slices.Contains(known, word) })
			_ = r.Settings.SetWords(key, more) // it held these words before
			continue
		}
		if same := setting.Text() == r.Settings.Text(key); same || setting.Field.Type == spec.Choices && setting.Text() == "" && len(r.Settings.Words(key)) == 0 {
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

// WithoutDefaults returns the request without what the settings have anyway.
func (r *Runner) WithoutDefaults(request Request, resolved *config.Resolved) Request {
	var options any
	if agent, err := r.User.Agents().Find(request.Agent); err == nil {
		options = agents.Options(agent)
	}
	return request.Without(resolved, options)
}

// ForMode returns r without the options that the agent does not know in the request's
// mode. options is a pointer to the agent's options.
func (r Request) ForMode(options any) Request {
	r = r.Clone()
	fields, _ := spec.Of(options) // nil has none
	for _, field := range fields {
		if !field.Mode.Includes(r.Mode()) {
			delete(r.Options, field.Key)
		}
	}
	return r
}

// Mode is the way of running the agent.
func (r Request) Mode() spec.Mode {
	if r.Interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// AddsUp reports whether a run can only add to the setting: what the settings have, no
// flag can take away.
func AddsUp(setting config.Setting) bool { return config.RunAddsTo(setting.Field) }

// addedWords are the words of a setting that a run can only add to.
func addedWords(setting config.Setting) (words []string, adds bool) {
	words, _ = setting.Value.([]string)
	return words, AddsUp(setting)
}

// Base returns an agent's options as the settings have them, in a copy of options; nil
// when options is.
func Base(resolved *config.Resolved, agent string, options any) any {
	base := spec.Clone(options)
	fields, err := spec.Of(options)
	if base == nil || err != nil {
		return nil
	}
	for _, setting := range resolved.Agent(agent) {
		for _, field := range fields {
			if "agents."+agent+"."+field.Key == setting.Key {
				_ = field.Decode(base, setting.Value) // it was read with these fields
			}
		}
	}
	return base
}
