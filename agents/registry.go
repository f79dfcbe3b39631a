package agents

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// Maker makes an agent with its options at their zero values.
type Maker func() Agent

// Set is a list of agents by name. It is immutable and safe for concurrent use.
type Set struct {
	makers []Maker
	broken map[string]error // the reasons why existing agents cannot be used, by name
}

// Builtin returns the agents that come with aibox, in the order in which they are shown. It
// is the only list of them.
func Builtin() Set {
	return Set{makers: []Maker{
		func() Agent { return &OpenCode{} },
		func() Agent { return &Aider{} },
		func() Agent { return &GeminiCLI{} },
		func() Agent { return &Qwen{} },
		func() Agent { return &Codex{} },
		func() Agent { return &Claude{} },
		func() Agent { return &Cursor{} },
		func() Agent { return &Copilot{} },
		func() Agent { return &Crush{} },
		func() Agent { return &Amp{} },
		func() Agent { return &Shell{} },
	}}
}

// With returns the set with more agents at its end. An agent with the name of another one,
// or with options that cannot be read, is a Usage fault.
func (s Set) With(more ...Maker) (Set, error) {
	names := s.Names()
	for _, make := range more {
		agent := make()
		name := agent.Info().Name
		if slices.Contains(names, name) {
			return s, fault.New(fault.Usage, "there are two agents called %q", name).Hint("rename one of them")
		}
		if err := spec.Defaults(Options(agent)); err != nil {
			return s, fmt.Errorf("the agent %q: %w", name, err)
		}
		if err := s.checkState(agent.Info()); err != nil {
			return s, err
		}
		names = append(names, name)
	}
	return Set{slices.Concat(s.makers, more), s.broken}, nil
}

// WithBroken returns a set in which Find returns the error why for an agent that exists but
// cannot be used. That agent is in no list. If an agent in the set has the name already,
// that one stays.
func (s Set) WithBroken(name string, why error) Set {
	broken := maps.Clone(s.broken)
	if broken == nil {
		broken = map[string]error{}
	}
	broken[name] = why
	return Set{s.makers, broken}
}

// Broken returns the reason why the agent called name cannot be used; nil if it can be used
// or is unknown.
func (s Set) Broken(name string) error {
	if _, err := s.Find(name); err == nil {
		return nil
	}
	return s.broken[name]
}

// All makes one of each agent, in order, with every option at its default.
func (s Set) All() []Agent {
	all := make([]Agent, len(s.makers))
	for i, make := range s.makers {
		all[i] = make()
		// With and a test check the tags, so there is no bad default here.
		_ = spec.Defaults(Options(all[i]))
	}
	return all
}

// Names returns the names of all agents in the order of All.
func (s Set) Names() []string {
	names := make([]string, len(s.makers))
	for i, make := range s.makers {
		names[i] = make().Info().Name
	}
	return names
}

// Find makes the agent called name, with every option at its default. An unknown
// name is a Usage fault that suggests the nearest one.
func (s Set) Find(name string) (Agent, error) {
	for _, agent := range s.All() {
		if agent.Info().Name == name {
			return agent, nil
		}
	}
	if why, ok := s.broken[name]; ok {
		return nil, why
	}
	unknown := fault.New(fault.Usage, "unknown agent %q", name)
	if name == "" {
		unknown = fault.New(fault.Usage, "no agent was given")
	}
	names := s.Names()
	if near := spelling.Nearest(name, slices.AppendSeq(slices.Clone(names), maps.Keys(s.broken))); near != "" {
		unknown = unknown.Hint("did you mean %q?", near)
	}
	return nil, unknown.Hint("the agents are %s; see `aibox agents`", strings.Join(names, ", "))
}
