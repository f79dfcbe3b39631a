package run

import (
	"fmt"
	"maps"
	"slices"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/session"
	"aibox/workspace"
)

// Of is the draft that runs what a session ran once more, on what its repository is
// now. Of the environment it names the variables; whoever runs it has their values
// or has not. What a session took over from another one is left behind, and so is
// --allow-degraded: it is about a machine at one time, and not about the task.
func Of(s session.Spec) Request {
	d := Request{
		Agent: s.Agent, Repository: s.Repository, Branch: s.Branch, Interactive: s.Interactive, Prompt: s.Prompt,
		Options: maps.Clone(s.Options), Args: slices.Clone(s.Args), Settings: map[string]string{},
	}
	values := s.Run
	values.Hide = workspace.OwnHide(s.Hide)
	for _, prompt := range s.Prompts {
		values.System = append(values.System, prompt.Name)
	}
	fields, _ := spec.Of(values) // a test makes sure that the tags can be read
	for _, field := range fields {
		if field.Inherit == spec.Never || !s.Inherits(field.Key) || field.Key == "verify-timeout" && s.Verify == "" {
			continue
		}
		text := field.Text(&values)
		if field.Type == spec.Bool {
			text = fmt.Sprint(field.Value(&values))
		}
		if text != "" || field.Type != spec.List && field.Key != "image" {
			d.Settings[field.Key] = text
		}
	}
	return d
}

// Without is d without what holds anyway: the settings that are as resolved says,
// and the agent's options that are as its settings or defaults say. options is a
// pointer to the agent's options at their defaults; nil when nobody knows the agent.
func (d Request) Without(resolved *config.Resolved, options any) Request {
	d = d.Clone()
	for key, text := range d.Settings {
		setting, err := resolved.Find(key)
		if err != nil {
			continue
		}
		if words, adds := addsUp(setting); adds {
			more := slices.DeleteFunc(List(text), func(word string) bool { return slices.Contains(words, word) })
			if d.Settings[key] = Text(more); len(more) == 0 {
				delete(d.Settings, key)
			}
			continue
		}
		if same(setting.Field, setting.Text(), text) {
			delete(d.Settings, key)
		}
	}
	base := Base(resolved, d.Agent, options)
	fields, _ := spec.Of(base)
	for _, field := range fields {
		if text, said := d.Options[field.Key]; said && text == field.Text(base) {
			delete(d.Options, field.Key)
		}
	}
	return d
}

// same reports whether two texts are one value of the setting.
func same(field spec.Field, a, b string) bool {
	one, other := config.Defaults(), config.Defaults()
	return field.Set(&one, a) == nil && field.Set(&other, b) == nil && field.Text(&one) == field.Text(&other)
}

// AddsUp reports whether what a flag says is added to what the setting says, which
// no flag can take away.
func AddsUp(setting config.Setting) bool { return setting.Field.Type == spec.List }

// addsUp is the words of a setting that flags can only add to.
func addsUp(setting config.Setting) (words []string, adds bool) {
	words, _ = setting.Value.([]string)
	return words, AddsUp(setting)
}

// Base is an agent's options as the settings say, in a copy of options; nil when
// options is.
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
