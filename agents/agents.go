// Package agents defines how each coding agent is run: its program, arguments,
// environment and files for a task, the API dialect of its model, and where it keeps its
// conversations. It starts nothing, reads no files and knows neither containers nor the
// network.
//
// An agent is a struct whose fields are its options (package spec). A new one is
// one file here, one line in the registry and one Dockerfile.
package agents

import (
	"io/fs"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// Agent is a coding agent's command line. Implementations are pointers to structs
// that spec.Of can read; set their fields before Command.
type Agent interface {
	// Info returns facts that do not depend on options.
	Info() Info
	// Command returns the program run that does task. Errors are Usage faults.
	Command(task Task) (Invocation, error)
}

// Info is what aibox knows about an agent.
type Info struct {
	Name     string // the name that the user types: "codex"
	Title    string // its own name: "Codex"
	Summary  string // one sentence without a full stop
	Homepage string // where to read more; empty when it has none
	Image    string // name of its Dockerfile and image, without tag
	Version  string // the version its recipe was measured with; empty for shell
	// Dialects are the APIs that it can use to talk to a model, best first. Empty means
	// that it needs no model from aibox.
	Dialects []Dialect
	// OwnCloud reports whether it talks only to its vendor's servers (Hosts), so that it
	// cannot use a model of the user.
	OwnCloud bool
	// HasCloud reports whether Command knows how to run it with its vendor's cloud in place
	// of a model server; see Inference.Cloud.
	HasCloud bool
	// NeedsPrompt reports whether it can do nothing headless without a prompt.
	NeedsPrompt bool
	// NeedsCommand reports whether the arguments after "--" are the command that it runs, which
	// it needs unless it is Interactive.
	NeedsCommand bool
	// StateDirs are the folders under the home directory, as "~/…", where it keeps
	// conversations. They are kept per session, so that Resume finds them.
	StateDirs []string
	// Scratch are folders at the top of the repository, as names that may hold a *, which
	// the agent keeps there for its own use, such as a cache. They are not part of the
	// work, so they are in no change set, unless the user has files in a folder of that
	// name.
	Scratch []string
	// Hosts are the names it connects to by default with its vendor's own cloud, for an
	// allow list. With aibox's gateway it needs none of them.
	Hosts []string
	// Account is the user's account at the vendor, for an agent with OwnCloud or HasCloud.
	Account Account
	// Events is how a headless run prints the conversation as events.
	Events Events
	// Notes are facts that `aibox agents show` prints, one a line.
	Notes []string
}

// Task is one task for an agent.
type Task struct {
	Prompt      string    // what to do; may be empty when Interactive
	Interactive bool      // on a terminal, with a user
	Resume      bool      // continue the latest conversation in StateDirs
	Workdir     string    // absolute path of the folder in the sandbox that the agent starts in
	Root        string    // absolute path of the repository there, which contains Workdir; empty means Workdir
	Inference   Inference // the model; BaseURL is empty when there is none
	Args        []string  // the arguments after "--": more arguments, or shell's command
	// Instructions are information for the agent before the task, in Markdown: its limits,
	// and the system prompts that the user chose. Empty means none. They are stored where
	// the agent reads standing instructions, outside the repository.
	Instructions string
	// MCP are servers of tools. Agents whose settings cannot name a server do not get it
	// from here, but the sandbox's environment names it, too.
	MCP []MCPServer
}

// Inference is where an agent finds a model. It holds nothing secret: the key is a
// placeholder, which is useless outside the session.
type Inference struct {
	BaseURL string // root of the gateway, "http://10.200.200.1:11434", no slash at the end
	Key     string // placeholder key
	Model   string // the upstream's id of the model
	// Cloud reports that the agent talks to its vendor's servers, with the user's account.
	// BaseURL and Key are empty, and an empty Model means the vendor's default.
	Cloud bool
	// Speaks lists the dialects of the model server. Empty means unknown: the agent's
	// first dialect is tried.
	Speaks  []Dialect
	Context int // tokens that fit into one request; 0 if unknown
	// ServerTools are the kinds of tools of the model's own server that the gateway lets
	// through, such as "web-search". Empty means none.
	ServerTools []string
}

// OpenAI returns the base URL for clients of OpenAI's dialects, "/v1" included.
func (i Inference) OpenAI() string { return i.BaseURL + "/openai/v1" }

// Anthropic returns the base URL for clients of Anthropic's dialect, which add "/v1".
func (i Inference) Anthropic() string { return i.BaseURL + "/anthropic" }

// Gemini returns the base URL for clients of Gemini's dialect, which add "/v1beta".
func (i Inference) Gemini() string { return i.BaseURL + "/gemini" }

// Ollama returns the base URL for clients of Ollama's own dialect, which add "/api".
func (i Inference) Ollama() string { return i.BaseURL + "/ollama" }

// Invocation is a program run in the sandbox.
type Invocation struct {
	Argv  []string // the program, looked up in the sandbox's PATH, and its arguments
	Env   []string // NAME=VALUE, on top of the sandbox's own PATH, HOME, TERM and LANG
	Files []File   // written before the program starts
}

// File is a small file in the sandbox.
type File struct {
	Path string      // absolute, or "~/…" for the home directory
	Mode fs.FileMode // permission bits of the file
	Data []byte
}

// mode returns the task's mode.
func (t Task) mode() spec.Mode {
	if t.Interactive {
		return spec.Interactive
	}
	return spec.Headless
}

// dialect returns how the agent talks to this task's model: the first of its own that the
// model server speaks. The error is that of CommonDialect.
func (t Task) dialect(info Info) (Dialect, error) { return info.CommonDialect(t.Inference.Speaks) }

// CommonDialect returns the first of the agent's dialects that is in speaks, or the first one if
// speaks is empty. If the server speaks none of them, it returns a Usage fault.
func (i Info) CommonDialect(speaks []Dialect) (Dialect, error) {
	for _, dialect := range i.Dialects {
		if len(speaks) == 0 || slices.Contains(speaks, dialect) {
			return dialect, nil
		}
	}
	if len(i.Dialects) == 0 {
		return NoDialect, nil
	}
	unspoken := fault.New(fault.Usage, "%s speaks %s, and the model server speaks %s", i.Title, list(i.Dialects), list(speaks))
	if slices.Contains(i.Dialects, Gemini) {
		unspoken = unspoken.Hint("for your own server that speaks gemini, end its URL with /v1beta: --inference http://127.0.0.1:8000/v1beta")
	}
	return NoDialect, unspoken.
		Hint("choose another server with --inference, or another agent; `aibox agents` shows the APIs that each one uses")
}

// list joins the names of dialects for a sentence.
func list(dialects []Dialect) string {
	names := make([]string, len(dialects))
	for i, dialect := range dialects {
		names[i] = dialect.String()
	}
	return strings.Join(names, " or ")
}

// Options returns the pointer to the struct whose fields are the agent's options: the agent
// itself, unless another struct has them.
func Options(agent Agent) any {
	if holder, ok := agent.(interface{ Options() any }); ok {
		return holder.Options()
	}
	return agent
}

// check returns a fault if an agent with these facts cannot do the task.
func (t Task) check(info Info) error {
	_, speechErr := t.dialect(info)
	model := len(info.Dialects) > 0 && !t.Inference.Cloud // it needs a model through the gateway
	switch {
	case model && t.Inference.BaseURL == "":
		return fault.New(fault.Usage, "%s needs a model, but this session has none", info.Title).
			Hint("use --network local, or `aibox run shell -- COMMAND` for a command that needs no model")
	case model && t.Inference.Model == "":
		return fault.New(fault.Usage, "no model was chosen for %s", info.Title).Hint("name one with --model")
	case speechErr != nil:
		return speechErr
	case t.Prompt == "" && !t.Interactive && info.NeedsPrompt:
		return fault.New(fault.Usage, "%s needs a prompt", info.Title).
			Hint("give it with --prompt or --prompt-file")
	case strings.ContainsRune(t.Prompt, 0):
		return fault.New(fault.Usage, "the prompt contains a NUL byte").Hint("give it as plain text")
	}
	for i, arg := range t.Args {
		if strings.ContainsRune(arg, 0) {
			return fault.New(fault.Usage, "argument %d after -- contains a NUL byte", i+1)
		}
	}
	return nil
}

// trusted returns the folders for which the agent must not ask for trust.
func (t Task) trusted() []string {
	if t.Root == "" || t.Root == t.Workdir {
		return []string{t.Workdir}
	}
	return []string{t.Workdir, t.Root}
}
