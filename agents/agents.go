// Package agents says how each coding agent's command line is driven: which
// program with which arguments, environment and files does a task, which model
// dialect it speaks, where it keeps its conversations. It starts nothing, reads
// no files and knows neither containers nor the network.
//
// An agent is a struct whose fields are its options (package spec). A new one is
// one file here, one line in the registry and one Dockerfile.
package agents

import (
	"fmt"
	"io/fs"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// Agent is a coding agent's command line. Implementations are pointers to structs
// that spec.Of can read; set their fields before Command.
type Agent interface {
	// Info tells facts that do not depend on options.
	Info() Info
	// Command is how the agent does task. Errors are Usage faults.
	Command(task Task) (Invocation, error)
}

// Info is what is known of an agent.
type Info struct {
	Name     string  // what a person types: "codex"
	Title    string  // its own name: "Codex"
	Summary  string  // one sentence without a full stop
	Homepage string  // where to read more; empty when it has none
	Image    string  // name of its Dockerfile and image, without tag
	Version  string  // the version its recipe was measured with; empty for shell
	Dialect  Dialect // how it talks to a model
	// NeedsPrompt reports whether it can do nothing headless without a prompt.
	NeedsPrompt bool
	// StateDirs are the folders under the home directory, as "~/…", where it keeps
	// conversations: kept per session, so that Resume finds them.
	StateDirs []string
	// Hosts are the names it asks for by default with its vendor's own cloud, for
	// an allow list. With aibox's gateway it needs none of them.
	Hosts []string
	// Notes are facts worth a line in `aibox agents show`.
	Notes []string
}

// Task is one thing to do.
type Task struct {
	Prompt      string    // what to do; may be empty when Interactive
	Interactive bool      // on a terminal, with a person
	Resume      bool      // go on with the latest conversation in StateDirs
	Workdir     string    // absolute path of the repository in the box
	Inference   Inference // the model; BaseURL is empty when there is none
	Args        []string  // what stood after "--": more arguments, or shell's command
}

// Inference is where an agent finds a model. It holds nothing secret: the key is
// a placeholder, worth nothing outside the session.
type Inference struct {
	BaseURL string // root of the gateway, "http://10.200.200.1:11434", no slash at the end
	Key     string // placeholder key
	Model   string // model id, as the upstream knows it
}

// OpenAI is the base URL for clients of OpenAI's dialects, "/v1" included.
func (i Inference) OpenAI() string { return i.BaseURL + "/openai/v1" }

// Anthropic is the base URL for clients of Anthropic's dialect, which add "/v1".
func (i Inference) Anthropic() string { return i.BaseURL + "/anthropic" }

// Gemini is the base URL for clients of Gemini's dialect, which add "/v1beta".
func (i Inference) Gemini() string { return i.BaseURL + "/gemini" }

// Ollama is the base URL for clients of Ollama's own dialect, which add "/api".
func (i Inference) Ollama() string { return i.BaseURL + "/ollama" }

// Invocation is a program run in the box.
type Invocation struct {
	Argv  []string // the program, looked up in the box's PATH, and its arguments
	Env   []string // NAME=VALUE, on top of the box's own PATH, HOME, TERM and LANG
	Files []File   // to be there before the program starts
}

// File is a small file in the box.
type File struct {
	Path string      // absolute, or "~/…" for the home directory
	Mode fs.FileMode // permission bits of the file
	Data []byte
}

// All makes one of each agent, in the order in which lists show them, with every
// option at its default.
func All() []Agent {
	all := registry()
	for _, agent := range all {
		// Tags are checked by a test, so a bad default cannot be met here.
		_ = spec.Defaults(agent)
	}
	return all
}

// Names are the names of all agents in the order of All.
func Names() []string {
	var names []string
	for _, agent := range registry() {
		names = append(names, agent.Info().Name)
	}
	return names
}

// Find makes the agent called name, with every option at its default. An unknown
// name is a Usage fault that suggests the nearest one.
func Find(name string) (Agent, error) {
	for _, agent := range All() {
		if agent.Info().Name == name {
			return agent, nil
		}
	}
	unknown := fault.New(fault.Usage, "there is no agent %q", name)
	if name == "" {
		unknown = fault.New(fault.Usage, "no agent was named")
	}
	if near := spec.Closest(name, Names()); near != "" {
		unknown = unknown.Hint("did you mean %q?", near)
	}
	return nil, unknown.Hint("the agents are %s; see `aibox agents`", strings.Join(Names(), ", "))
}

// scope is the option scope of a task.
func (t Task) scope() spec.Scope {
	if t.Interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// check refuses what no model-driven agent can do.
func (t Task) check(info Info) error {
	switch {
	case t.Inference.BaseURL == "":
		return fault.New(fault.Usage, "%s needs a model, and this session has none", info.Title).
			Hint("use --network local, or `aibox run shell -- COMMAND` for a command that needs no model")
	case t.Inference.Model == "":
		return fault.New(fault.Usage, "no model was chosen for %s", info.Title).Hint("name one with --model")
	case t.Prompt == "" && !t.Interactive:
		return fault.New(fault.Usage, "%s needs a prompt", info.Title).
			Hint("give it with --prompt or --prompt-file")
	case strings.ContainsRune(t.Prompt, 0):
		return fault.New(fault.Usage, "the prompt holds a NUL byte").Hint("give it as plain text")
	}
	for i, arg := range t.Args {
		if strings.ContainsRune(arg, 0) {
			return fault.New(fault.Usage, "argument %d after -- holds a NUL byte", i+1)
		}
	}
	return nil
}

// options are the arguments and variables that the fields of agent make.
func options(agent Agent, scope spec.Scope) (argv, env []string, err error) {
	if argv, err = spec.Argv(agent, scope); err == nil {
		env, err = spec.Env(agent, scope)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the options of %s: %w", agent.Info().Name, err)
	}
	return argv, env, nil
}
