package agents

import (
	"fmt"
	"slices"
	"strings"

	"aibox/agents/conversation"
	"aibox/agents/spec"
)

// Events describes how an agent prints its conversation as events in a headless run: the
// option that selects the format. The zero value means that it prints text only.
type Events struct {
	Format conversation.Format
	Option string // the key of the option
	Value  string // its value, in the syntax of spec.Field.Set
	// OnRequest leaves the format to the user: aibox decodes the events if the option is
	// set, and does not set it by itself.
	OnRequest bool
}

// Output describes the output of an agent in a run.
type Output struct {
	Format conversation.Format `json:"format,omitempty"`
	// Chosen reports that the user chose the form of the output, so it is printed unchanged.
	Chosen bool `json:"chosen,omitempty"`
}

// Rendered reports whether the output is events that are shown as text.
func (o Output) Rendered() bool { return o.Format.Known() && !o.Chosen }

// texter is an agent with options that give its output a special form, which events would
// change.
type texter interface {
	// printsText reports whether the options ask for such an output.
	printsText() bool
}

// OutputOf returns the agent's output for a task. By default a headless run prints events
// if the agent has a format of them.
func OutputOf(agent Agent, task Task) Output {
	events := agent.Info().Events
	if task.Interactive || !events.Format.Known() {
		return Output{}
	}
	field, ok := spec.Lookup(Options(agent), events.Option)
	if !ok {
		return Output{}
	}
	switch text := field.Text(Options(agent)); {
	case text == events.Value:
		return Output{Format: events.Format, Chosen: true}
	case text != "" || task.hasFlag(field.Flag):
		return Output{Chosen: true}
	case events.OnRequest:
		return Output{}
	}
	if agent, ok := agent.(texter); ok && agent.printsText() {
		return Output{}
	}
	return Output{Format: events.Format}
}

// hasFlag reports whether the arguments after "--" contain the words of a flag.
func (t Task) hasFlag(words []string) bool {
	if len(words) == 0 {
		return false
	}
	return slices.ContainsFunc(t.Args, func(arg string) bool {
		return arg == words[0] || strings.HasPrefix(arg, words[0]+"=")
	})
}

// options returns the arguments and variables of the agent's options, including the one
// that makes it print events.
func options(agent Agent, task Task) (argv, env []string, err error) {
	set := Options(agent)
	if output := OutputOf(agent, task); output.Rendered() {
		if set, err = withEvents(agent); err != nil {
			return nil, nil, err
		}
	}
	if argv, err = spec.Argv(set, task.mode()); err == nil {
		env, err = spec.Env(set, task.mode())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the options of %s: %w", agent.Info().Name, err)
	}
	return argv, env, nil
}

// withEvents returns a copy of the agent's options that selects its format of events.
func withEvents(agent Agent) (any, error) {
	set, events := spec.Clone(Options(agent)), agent.Info().Events
	field, ok := spec.Lookup(set, events.Option)
	if !ok {
		return nil, fmt.Errorf("%s has no option %q", agent.Info().Name, events.Option)
	}
	return set, field.Set(set, events.Value)
}
