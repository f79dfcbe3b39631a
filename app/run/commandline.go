package run

import (
	"maps"
	"slices"
	"strconv"

	"aibox/agents"
	"aibox/agents/custom"
	"aibox/agents/spec"
	"aibox/config"
)

// CommandLine returns the words of the command that runs r, to be shown to the user:
// "aibox", "run" (or "fork" and the session), the agent, the flags and the arguments. own
// reports which of the agent's options have their own flag; the others use --set. If own is
// nil, all of them use --set. more are further flags. Secrets are not among the words.
func (r Request) CommandLine(own func(key string) bool, more ...string) []string {
	words := []string{"aibox", "run"}
	switch {
	case r.Forks != "":
		words = append([]string{"aibox", "fork", r.Forks}, flagUnlessEmpty("agent", r.Agent)...)
	case r.Agent != "":
		words = append(words, r.Agent)
	}
	words = append(words, flagUnlessEmpty("repo", r.Repository)...)
	words = append(words, flagUnlessEmpty("branch", r.Branch)...)
	words = append(words, flagUnlessEmpty("resume", r.Resumes)...)
	if r.Times > 1 {
		words = append(words, "--times="+strconv.Itoa(r.Times))
	}
	for _, on := range []struct {
		name string
		set  bool
	}{{"no-feedback", r.NoFeedback}, {"interactive", r.Interactive}, {"detach", r.Detached}} {
		if on.set {
			words = append(words, "--"+on.name)
		}
	}
	words = slices.Concat(words, r.settingFlags(), r.optionFlags(own), more, flagUnlessEmpty("prompt", r.Prompt))
	if len(r.Args) > 0 {
		words = append(append(words, "--"), r.Args...)
	}
	return words
}

func (r Request) settingFlags() []string {
	fields := map[string]spec.Field{}
	for _, field := range config.RunFields() {
		fields[field.Key] = field
	}
	var words []string
	for _, key := range SettingKeys() {
		if !r.Settings.Has(key) {
			continue
		}
		switch field := fields[key]; field.Type {
		case spec.List, spec.Choices:
			list := r.Settings.Words(key)
			for _, word := range list {
				if key != "env" { // the text of a variable is one word
					word = listWord(key, word)
				}
				words = append(words, "--"+key+"="+word)
			}
			if len(list) == 0 {
				words = append(words, "--"+key+"=")
			}
		default:
			words = append(words, flag(key, r.Settings.Text(key), field.Type == spec.Bool))
		}
	}
	return words
}

func (r Request) optionFlags(own func(key string) bool) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(r.Options)) {
		switch text := r.Options[key]; {
		case own == nil || !own(key):
			words = append(words, "--set", key+"="+text)
		default:
			words = append(words, flag(key, text, text == "true"))
		}
	}
	return words
}

func flagUnlessEmpty(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name + "=" + value}
}

// flag is a flag with its value; a switch that is on has only the flag.
func flag(key, text string, isSwitch bool) string {
	if isSwitch && text == "true" {
		return "--" + key
	}
	return "--" + key + "=" + text
}

// listWord quotes a word of a list in the format of list flags.
func listWord(key, word string) string {
	var list config.RunOverrides
	if list.SetWords(key, []string{word}) != nil {
		return word
	}
	return list.Text(key)
}

// OwnFlags reports which of the agent's options are flags of `aibox run AGENT`. Secrets are
// not, and neither are options with the name of one of aibox's own flags.
func OwnFlags(agent agents.Agent) func(key string) bool {
	fields, _ := spec.Of(agents.Options(agent)) // checked when the agent was registered
	return func(key string) bool {
		return slices.ContainsFunc(fields, func(field spec.Field) bool { return field.Key == key && IsOwnFlag(field) })
	}
}

// IsOwnFlag reports whether an agent's option is a flag of `aibox run AGENT`.
func IsOwnFlag(field spec.Field) bool {
	return field.Type != spec.Secret && !custom.IsRunFlag(field.Key)
}
