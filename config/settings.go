// Package config defines the settings: their names, how they are written in TOML and in the
// environment, how their sources are merged, and where each value came from. It reads two
// files (read.go) and is otherwise pure. A file in a repository can never loosen what the
// user allows, because an agent may have written it. The package never reads a secret from a
// file, and never ignores a key or a value that it does not know.
//
// Edits of a file are written by hand on top of go-toml, which only encodes whole documents
// and would lose comments and order (edit.go).
package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/gitignore"
	"aibox/internal/shellquote"
	"aibox/internal/spelling"
)

// Settings has the settings at the top of a file. Its fields and their tags are the only list
// of them. A list to which a repository can add is the union of all sources; of every other
// setting the last source wins.
type Settings struct {
	Agent string `label:"Agent" help:"The default agent"`
	Run
	Rootful      bool          `label:"Rootful Docker" help:"Use the system's Docker, whose root is the host's root"`
	OwnAddresses []string      `label:"Own addresses" help:"Addresses or prefixes of your own machines and routers that no sandbox may reach through the egress proxy" placeholder:"ADDRESS"`
	Keep         time.Duration `label:"Keep" help:"How long aibox gc keeps reviewed sessions, and unused snapshots and clones, such as 30d" default:"30d" min:"0s"`
	Pager        string        `label:"Pager" help:"The pager for diffs; cat for none, empty for $PAGER or less"`

	Notify        bool     `label:"Notify" help:"Show notifications of the desktop and the terminal" default:"true"`
	NotifyOn      []string `label:"Notify on" help:"Notify when a session asks a question, waits for you, has ended or has failed" choices:"asks waiting ended failed" default:"asks,waiting,ended,failed"`
	NotifyCommand string   `label:"Notify command" help:"Run this program for each notification, with the notification as JSON on its standard input" placeholder:"COMMAND"`

	AuditKeep    time.Duration `label:"Keep audit logs" help:"How long aibox gc keeps the audit logs of removed sessions, such as 90d" zero:"no limit" default:"90d" min:"0s"`
	AuditCommand string        `label:"Audit command" help:"Run this program for each event of the audit logs, with the event as JSON on its standard input" placeholder:"COMMAND"`
}

// Images are the settings under [images].
type Images struct {
	Base string `label:"Base image" help:"A base image to use instead of aibox's Debian"`
}

// Catalog lists the things besides aibox itself that have settings.
type Catalog struct {
	Agents  []Agent
	Unread  []string                   // agents whose options are unknown at the moment: settings for them are not read
	Images  []string                   // the images whose version can be chosen, for [images.versions]
	Version func(version string) error // reports whether a text can be one; nil means that any can
	// Inference returns why the text cannot name a model server, without looking for one; nil
	// allows any.
	Inference func(text string, providers ...string) error
	// Words has a check for each list whose words have a special syntax, by the setting's
	// key. It returns the reason why a word is not valid.
	Words map[string]func(word string) error
	// Narrows reports whether one allow list allows at most what another one allows; nil
	// compares their words as text.
	Narrows func(next, now []string) bool
	// ReachesLess reports whether a run with an allow list reaches only hosts that one with the
	// policy public reaches, too; nil never does.
	ReachesLess func(next, now *Run) bool
	// Provider checks a provider as a whole; nil allows any.
	Provider func(name string, p Provider) error

	// Auto has the numbers that the word auto means on this machine, as text, by the
	// setting's key. A setting without one keeps the word.
	Auto map[string]string

	named namedTables // of the user
}

// Agent is an agent whose options can be set under [agents.NAME].
type Agent struct {
	Name    string
	Options any  // a pointer to the struct, with every option at its default; only read
	Login   bool // it can use an account of the user at its vendor
}

// section is a table of the file: a struct whose fields are its keys.
type section struct {
	name     string // "", "images", "images.versions" or "agents.NAME"
	unread   bool   // may hold anything
	policy   bool   // AgentPolicy; the agent's options are another section of the same name
	defaults any    // pointer to the struct
	fields   []spec.Field
	taken    func(key string) bool                   // keys that another section of the same name has; may be nil
	check    func(field spec.Field, value any) error // checks that tags cannot express; may be nil
	narrows  func(next, now []string) bool           // Catalog.Narrows
	less     func(next, now *Run) bool               // Catalog.ReachesLess
	auto     map[string]string                       // Catalog.Auto
}

// entry is one setting.
type entry struct {
	key     string // as users type it: "timeout", "agents.codex.verbosity"
	section *section
	field   spec.Field
}

// sections lists the tables and their settings, with those that the user names, in the order of
// documentation. Errors are bugs of aibox.
func (c Catalog) sections(named namedTables) ([]*section, error) {
	versions, err := versions(c.Images)
	if err != nil {
		return nil, err
	}
	all := []*section{
		{name: "", defaults: new(Settings), check: c.checkSetting},
		{name: "images", defaults: new(Images)},
		{name: "images.versions", defaults: versions, check: c.checkVersion},
	}
	for _, s := range all {
		if err := spec.Defaults(s.defaults); err != nil {
			return nil, err
		}
	}
	for _, sections := range []func() ([]*section, error){
		func() ([]*section, error) { return providerSections(named.providers) },
		func() ([]*section, error) { return secretSections(named.secrets) },
	} {
		more, err := sections()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	for _, agent := range c.Agents {
		policy, err := c.policySection(agent)
		if err != nil {
			return nil, err
		}
		all = append(all, &section{name: "agents." + agent.Name, defaults: agent.Options}, policy)
	}
	for _, name := range c.Unread {
		all = append(all, &section{name: "agents." + name, unread: true, defaults: new(struct{})})
	}
	for _, s := range all {
		if s.fields, err = spec.Of(s.defaults); err != nil {
			return nil, fmt.Errorf("settings of [%s]: %w", s.name, err)
		}
		if s.taken != nil {
			s.fields = slices.DeleteFunc(s.fields, func(field spec.Field) bool { return s.taken(field.Key) })
		}
		s.narrows, s.less, s.auto = c.Narrows, c.ReachesLess, c.Auto
	}
	return all, nil
}

// versions makes the struct of [images.versions], one option for each image.
func versions(images []string) (any, error) {
	definitions := make([]spec.Definition, 0, len(images))
	for _, image := range images {
		definitions = append(definitions, spec.Definition{Key: image, Tags: map[string]string{
			"label": "Version of " + image, "help": "The version that the image of " + image + " holds",
		}})
	}
	return spec.Struct(definitions)
}

// entries returns the settings of the section.
func (s *section) entries() []entry {
	entries := make([]entry, 0, len(s.fields))
	for i := range s.fields {
		entries = append(entries, s.entry(i))
	}
	return entries
}

// entry returns the setting of a field.
func (s *section) entry(i int) entry {
	field := s.fields[i]
	return entry{key: strings.TrimPrefix(s.name+"."+field.Key, "."), section: s, field: field}
}

// Defaults returns the default settings.
func Defaults() Settings {
	var s Settings
	// A test ensures that the tags can be read.
	_ = spec.Defaults(&s)
	return s
}

// checkSetting holds the rules of Settings that tags cannot express.
func (c Catalog) checkSetting(field spec.Field, value any) error {
	if name, ok := value.(string); ok && field.Key == "agent" {
		return c.checkAgent(name)
	}
	if text, ok := value.(string); ok && field.Key == "inference" && c.Inference != nil {
		return c.Inference(text, c.named.providers...)
	}
	if text, ok := value.(string); ok && (field.Key == "audit-command" || field.Key == "notify-command") {
		return checkCommand(field.Key, text)
	}
	words, _ := value.([]string)
	for _, word := range words {
		if check := c.Words[field.Key]; check != nil {
			if err := check(word); err != nil {
				return err
			}
		}
		switch field.Key {
		case "hide", "read-only":
			if _, err := gitignore.ParseWord(word); err != nil {
				return err
			}
		case "env":
			if name, _, given := strings.Cut(word, "="); given {
				return fault.New(fault.Usage, "option %q takes names of variables, not values", field.Key).
					Hint("use %q, and set its value in your environment", name)
			}
			if word == "" || strings.ContainsAny(word, " \t\r\n") {
				return fault.New(fault.Usage, "%q is not the name of a variable", word)
			}
		}
	}
	return nil
}

// checkCommand checks a command that no shell runs.
func checkCommand(key, text string) error {
	if _, err := shellquote.Split(text); err != nil {
		return fault.New(fault.Usage, "option %q cannot be read: %w", key, err).
			Hint("no shell runs it; for a pipe or a variable, name a script")
	}
	return nil
}

// Names returns the names of the agents.
func (c Catalog) Names() []string {
	names := make([]string, len(c.Agents))
	for i, agent := range c.Agents {
		names[i] = agent.Name
	}
	return names
}

func (c Catalog) checkAgent(name string) error {
	known := c.Names()
	if slices.Contains(known, name) {
		return nil
	}
	unknown := fault.New(fault.Usage, "unknown agent %q", name)
	if near := spelling.Nearest(name, known); near != "" {
		return unknown.Hint("did you mean %q?", near)
	}
	return unknown.Hint("`aibox agents` lists them")
}

func (c Catalog) checkVersion(_ spec.Field, value any) error {
	text, given := value.(string)
	if !given || c.Version == nil {
		return nil
	}
	return c.Version(text)
}
