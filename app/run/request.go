// Package run is what a person would like to run, before anything is checked: it
// says itself as a command line of aibox, which is how it is checked and run, so
// that a form has no rules of its own. It also remembers a repository's last choices
// in a private file. It stores no secret and no value of a variable, knows nothing of
// which values are right, and starts nothing.
package run

import (
	"maps"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/secret"
)

// Request is a run that is being put together. The zero value says nothing: all of it
// is what the settings say.
type Request struct {
	Agent       string `json:"agent,omitempty"`
	Repository  string `json:"-"` // an absolute path, or a URL
	Branch      string `json:"-"` // the next run begins with what is checked out then
	Interactive bool   `json:"interactive,omitempty"`
	Prompt      string `json:"-"`
	// Settings are the settings that this run has otherwise, by the key of
	// config.Settings, as spec.Field.Set takes them.
	Settings map[string]string `json:"settings,omitempty"`
	// Options are the agent's own options that this run has otherwise, by key.
	Options map[string]string `json:"options,omitempty"`
	Args    []string          `json:"-"` // behind "--"
	// Secrets are the secret options of the agent that the user typed, by key. They are
	// in no command line.
	Secrets map[string]secret.Value `json:"-"`
}

// formOrder is the order of a form. Settings that it does not name come last.
var formOrder = []string{
	"model", "inference", "inference-tools", "max-upload", "max-tokens", "model-timeout", "network", "timeout", "pids", "state-size", "allow-degraded", "hide", "clean", "system", "verify", "verify-timeout", "accept", "env", "image",
}

// Settable are the settings that a draft can have, in the order of a form: all of a run but
// require-changes, which is for scripts. Each is a flag of `aibox run` with the same name.
func Settable() []string {
	keys := slices.Clone(formOrder)
	fields, _ := spec.Of(config.Run{}) // a test makes sure that the tags can be read
	for _, field := range fields {
		if field.Key != "require-changes" && !slices.Contains(keys, field.Key) {
			keys = append(keys, field.Key)
		}
	}
	return keys
}

// Clone is a copy that shares nothing with d.
func (d Request) Clone() Request {
	d.Settings, d.Options, d.Args = maps.Clone(d.Settings), maps.Clone(d.Options), slices.Clone(d.Args)
	d.Secrets = maps.Clone(d.Secrets)
	return d
}

// Equal reports whether both drafts ask for the same run.
func (d Request) Equal(other Request) bool {
	return d.Agent == other.Agent && d.Repository == other.Repository && d.Branch == other.Branch && d.Interactive == other.Interactive && d.Prompt == other.Prompt &&
		maps.Equal(d.Settings, other.Settings) && maps.Equal(d.Options, other.Options) && slices.Equal(d.Args, other.Args) && maps.Equal(d.Secrets, other.Secrets)
}

// Shortened is d with its prompt and arguments cut to at most length bytes each, for a
// preview.
func (d Request) Shortened(length int) Request {
	cut := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), length)], "") }
	d.Prompt, d.Args = cut(d.Prompt), slices.Clone(d.Args)
	for i, arg := range d.Args {
		d.Args[i] = cut(arg)
	}
	return d
}

// Words are the arguments of aibox that run d: "run", the agent and its flags. own
// says which of the agent's options are flags of their own; nil is none of them.
func (d Request) Words(own func(key string) bool) []string {
	words := []string{"run"}
	if d.Agent != "" {
		words = append(words, d.Agent)
	}
	if d.Repository != "" {
		words = append(words, "--repo="+d.Repository)
	}
	if d.Branch != "" {
		words = append(words, "--branch="+d.Branch)
	}
	if d.Interactive {
		words = append(words, "--interactive")
	}
	words = append(append(words, d.settings()...), d.options(own)...)
	if d.Prompt != "" {
		words = append(words, "--prompt="+d.Prompt)
	}
	if len(d.Args) > 0 {
		words = append(append(words, "--"), d.Args...)
	}
	return words
}

// settings are the flags of the settings. One of a key that is no setting comes too:
// it is refused where the words are read.
func (d Request) settings() []string {
	known := map[string]spec.Field{}
	fields, _ := spec.Of(config.Settings{}) // a test makes sure that the tags can be read
	for _, field := range fields {
		known[field.Key] = field
	}
	keys := Settable()
	for _, key := range slices.Sorted(maps.Keys(d.Settings)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	var words []string
	for _, key := range keys {
		text, said := d.Settings[key]
		if !said {
			continue
		}
		switch field := known[key]; field.Type {
		case spec.List, spec.Choices:
			list := List(text)
			for _, word := range list {
				words = append(words, "--"+key+"="+Text([]string{word}))
			}
			if len(list) == 0 && field.Type == spec.Choices { // none, whatever the settings say
				words = append(words, "--"+key+"=")
			}
		case spec.Bool:
			words = append(words, flag(key, text))
		default:
			words = append(words, "--"+key+"="+text)
		}
	}
	return words
}

func (d Request) options(own func(key string) bool) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(d.Options)) {
		switch text := d.Options[key]; {
		case own == nil || !own(key):
			words = append(words, "--set", key+"="+text)
		default:
			words = append(words, flag(key, text))
		}
	}
	return words
}

// flag is a flag with its value; a switch that is on is the flag alone.
func flag(key, text string) string {
	if text == "true" {
		return "--" + key
	}
	return "--" + key + "=" + text
}

// list is a list by itself, for reading and printing one.
type list struct {
	Words []string `label:"Words" help:"Words"`
}

// List are the words of a setting that is a list.
func List(text string) []string {
	var l list
	fields, _ := spec.Of(l)
	if len(fields) == 0 || fields[0].Set(&l, text) != nil {
		return []string{text} // refused where the words are read
	}
	return l.Words
}

// Text is words as one setting, as List reads it.
func Text(words []string) string {
	fields, _ := spec.Of(list{})
	if len(fields) == 0 {
		return strings.Join(words, ",")
	}
	return fields[0].Text(&list{Words: words})
}
